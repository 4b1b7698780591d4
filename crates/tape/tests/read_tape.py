"""Reads a bevy_replay tape of format 1 and prints it as JSON, as `bevy-replay dump --json` does.

Written from docs/tape-format.md alone, with the standard library only: python3 read_tape.py run.tape
"""

import json
import struct
import sys
import zlib

MAGIC = b"BVYTAPE\n"
WIDTH_MAX = 256


class Bytes:
    """Bytes that are read from the front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        part = self.data[self.at:self.at + count]
        if len(part) != count:
            raise ValueError("the bytes end early")
        self.at += count
        return part

    def number(self, width, signed=False):
        return int.from_bytes(self.take(width), "little", signed=signed)

    def u64(self):
        return self.number(8)

    def u64s(self):
        return [self.u64() for _ in range(self.u64())]

    def blob(self):
        return self.take(self.u64())

    def varint(self):
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def rest(self):
        return self.take(len(self.data) - self.at)


def chunks(data):
    """Yields kind and content of each chunk whose checksum is right."""
    if data[:8] != MAGIC:
        raise ValueError("this is no tape")
    at = 8
    while at + 16 <= len(data):
        kind, length, crc = struct.unpack_from("<4sQI", data, at)
        payload = data[at + 16:at + 16 + length]
        if len(payload) < length:
            return  # written by a recorder that died
        if zlib.crc32(data[at:at + 12] + payload) != crc:
            raise ValueError(f"chunk at byte {at} is damaged")
        at += 16 + length
        if payload[:1] == b"\0":
            yield kind, payload[1:]
        elif payload[:1] == b"\1":
            content = zlib.decompress(payload[9:], -15)
            if len(content) != int.from_bytes(payload[1:9], "little"):
                raise ValueError(f"chunk at byte {at} has another size than it says")
            yield kind, content


# Values


def only(shape):
    """Returns the name and the fields of a shape: `"Bool"` or `{"Int": {"bits": 8}}`."""
    return (shape, {}) if isinstance(shape, str) else next(iter(shape.items()))


def width(schema, index=0, above=()):
    """Returns how many bytes a value takes, where all take the same."""
    if index in above:
        return None
    above = (*above, index)
    name, parts = only(schema[index])

    def total(items):
        widths = [width(schema, item, above) for item in items]
        return None if None in widths else sum(widths)

    if name in ("UInt", "Int", "Float", "Fixed"):
        return parts["bits"] // 8
    if name in ("Bool", "Char", "Duration", "Entity"):
        return {"Bool": 1, "Char": 4, "Duration": 12, "Entity": 8}[name]
    if name == "Option":
        return 1 if total([parts["item"]]) == 0 else None
    if name == "Array":
        item = 0 if parts["len"] == 0 else total([parts["item"]])
        return None if item is None else item * parts["len"]
    if name == "Tuple":
        return total(parts["items"])
    if name == "Struct":
        return total(field["shape"] for field in parts["fields"])
    if name == "Enum":
        widths = {total([field["shape"] for field in variant["fields"]]) for variant in parts["variants"]} or {0}
        return None if len(widths) != 1 or None in widths else 4 + widths.pop()
    return None


def integer(value):
    return value if abs(value) <= 1 << 53 else str(value)


def real(value):
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return value


def fixed(raw, fraction_bits):
    whole, rest = divmod(abs(raw), 1 << fraction_bits)
    digits = ""
    while True:
        rest *= 10
        digits += str(rest >> fraction_bits)
        rest &= (1 << fraction_bits) - 1
        if rest == 0:
            return f"{'-' if raw < 0 else ''}{whole}.{digits}"


def fields(schema, specs, data):
    values = [(field["name"], value(schema, field["shape"], data)) for field in specs]
    if values and values[0][0] == "0":
        return [part for _, part in values]
    return dict(values)


def value(schema, index, data):
    name, parts = only(schema[index])
    if name == "Bool":
        return data.number(1) == 1
    if name in ("UInt", "Int"):
        return integer(data.number(parts["bits"] // 8, name == "Int"))
    if name == "Float":
        return real(struct.unpack("<f" if parts["bits"] == 32 else "<d", data.take(parts["bits"] // 8))[0])
    if name == "Fixed":
        return fixed(data.number(parts["bits"] // 8, parts["signed"]), parts["fraction_bits"])
    if name == "Char":
        return chr(data.number(4))
    if name == "String":
        return data.blob().decode()
    if name == "Duration":
        return [data.u64(), data.number(4)]
    if name == "Entity":
        entity = data.u64()
        return None if entity == (1 << 64) - 1 else integer(entity)
    if name == "Option":
        return [value(schema, parts["item"], data)] if data.number(1) else None
    if name == "Array":
        return [value(schema, parts["item"], data) for _ in range(parts["len"])]
    if name in ("List", "Set"):
        return [value(schema, parts["item"], data) for _ in range(data.u64())]
    if name == "Map":
        return [[value(schema, parts["key"], data), value(schema, parts["value"], data)] for _ in range(data.u64())]
    if name == "Tuple":
        return [value(schema, item, data) for item in parts["items"]]
    if name == "Struct":
        return fields(schema, parts["fields"], data)
    tag = data.number(4)
    variant = next(variant for variant in parts["variants"] if variant["tag"] == tag)
    if not variant["fields"]:
        return variant["name"]
    return {variant["name"]: fields(schema, variant["fields"], data)}


def whole(spec, data):
    data = Bytes(data)
    result = value(spec["schema"], 0, data)
    if data.rest():
        raise ValueError("bytes are left over")
    return result


# Chunks


def read_ticks(data, base, count):
    ticks = []
    for _ in range(count):
        base += data.varint()
        ticks.append(base)
        base += 1
    return ticks


def read_inputs(data, specs, tracks):
    data = Bytes(data)
    base = data.u64()
    when = []
    for spec in specs:
        count = data.varint()
        size = data.varint() if count else 0
        if size == 0:
            ticks = read_ticks(data, base, count)
            when.append((0, ticks, [data.varint() for _ in ticks]))
        else:
            when.append((size, None, [read_ticks(data, base, data.varint()) for _ in range(size)]))
    for track, (size, ticks, rest) in zip(tracks, when):
        if size == 0:
            track.extend((tick, data.take(length)) for tick, length in zip(ticks, rest))
            continue
        changes = {}
        for column, column_ticks in enumerate(rest):
            for tick, byte in zip(column_ticks, data.take(len(column_ticks))):
                changes.setdefault(tick, []).append((column, byte))
        now = bytearray(track[-1][1] if track else bytes(size))
        for tick in sorted(changes):
            for column, byte in changes[tick]:
                now[column] = byte
            track.append((tick, bytes(now)))


def read_rows(data, spec, ids):
    data = Bytes(data)
    return [(entity, value(spec["schema"], 0, data)) for entity in ids]


def read_state(data, header):
    data = Bytes(data)
    data.u64()  # the first tick, as in the header
    entities = data.u64s()
    components = []
    for _, spec in zip(range(data.u64()), header["lanes"]):
        ids = data.u64s()
        components += [[entity, spec["name"], shown] for entity, shown in read_rows(data.blob(), spec, ids)]
    components.sort(key=lambda row: row[0])
    resources = []
    for _, spec in zip(range(data.u64()), header["resources"]):
        if data.number(1):
            resources.append([spec["name"], whole(spec, data.blob())])
    return entities, components, resources


def read_values(data, header):
    data = Bytes(data)
    for _ in range(data.u64()):
        change = {"after": data.u64(), "despawned": data.u64s(), "spawned": data.u64s(), "removed": [], "changed": []}
        for _ in range(data.u64()):
            spec = header["lanes"][data.number(4)]
            change["removed"] += [[entity, spec["name"]] for entity in data.u64s()]
            ids = data.u64s()
            change["changed"] += [[entity, spec["name"], shown] for entity, shown in read_rows(data.blob(), spec, ids)]
        change["resources"] = []
        for _ in range(data.u64()):
            spec = header["resources"][data.number(4)]
            change["resources"].append([spec["name"], whole(spec, data.blob()) if data.number(1) else None])
        yield {name: part for name, part in change.items() if name == "after" or part}


def read(data):
    tape = {"inputs": [], "clock": [], "roots": [], "types": [], "values": [], "marks": []}
    header, tracks, ticks, pending = None, [], 0, []
    tape["end"] = {"tick_count": 0, "reason": "Unfinished"}

    def carry_out():
        for kind, content in pending:
            if kind == b"INIT":
                state = read_state(content, header)
                tape["entities"], tape["components"], tape["resources"] = state
            elif kind == b"INPT":
                read_inputs(content, header["tracks"], tracks)
            elif kind == b"CLCK":
                source = Bytes(content)
                tape["clock"] += [{"tick": source.u64(), "timestep_ns": source.u64()} for _ in range(source.u64())]
            elif kind == b"ROOT":
                tape["roots"] += [f"{root:016X}" for (root,) in struct.iter_unpack("<Q", content)]
            elif kind == b"LANE":
                source = Bytes(content)
                rows = read_ticks(source, 0, source.varint())
                count = len(header.get("lanes", [])) + len(header.get("resources", []))
                for tick in rows:
                    tape["types"].append([tick, [f"{source.u64():016X}" for _ in range(count)]])
            elif kind == b"DELT":
                tape["values"] += read_values(content, header)
            elif kind == b"MARK":
                tape["marks"] += json.loads(content)
        pending.clear()

    for kind, content in chunks(data):
        if kind == b"HEAD":
            tape["header"] = header = json.loads(content)
            header.setdefault("lanes", [])
            header.setdefault("resources", [])
            tracks = [[] for _ in header["tracks"]]
        elif kind == b"INIT":
            pending.append((kind, content))
            carry_out()
        elif kind == b"TICK":
            carry_out()  # what follows the last of these is not on the tape yet
            tape["end"]["tick_count"] = int.from_bytes(content, "little")
        elif kind == b"END ":
            carry_out()
            tape["end"] = json.loads(content)
        else:
            pending.append((kind, content))
    for spec, track in zip(header["tracks"], tracks):
        tape["inputs"] += [[tick, spec["name"], whole(spec, data)] for tick, data in track]
    tape["inputs"].sort(key=lambda change: change[0])
    for name in ("lanes", "resources"):
        if not header[name]:
            del header[name]
    always = ("header", "inputs", "end", "entities")
    return {name: part for name, part in tape.items() if part or name in always}


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        json.dump(read(file.read()), sys.stdout)
