//! What the derives refuse, and what they say then.

use crate::{canonical, stream_label, tick_input};
use syn::parse_quote;

/// Returns the messages of all errors, in the order of the declaration.
fn refusal(result: syn::Result<proc_macro2::TokenStream>) -> Vec<String> {
    let error = result.expect_err("the declaration is refused");
    error.into_iter().map(|error| error.to_string()).collect()
}

macro_rules! canonical_refusal {
    ($($item:tt)*) => { refusal(canonical::derive(&parse_quote!($($item)*))) };
}

macro_rules! tick_input_refusal {
    ($($item:tt)*) => { refusal(tick_input::derive(&parse_quote!($($item)*))) };
}

#[test]
fn two_roles_on_one_field_are_refused_in_one_attribute_or_two() {
    let expected = "a field has one role, but both `observation` and `derived` are given (keep one of `authoritative`, \
                    `observation`, `presentation`, `derived`)";
    let one = canonical_refusal!(
        struct A {
            #[canonical(observation, derived)]
            x: u8,
        }
    );
    let two = canonical_refusal!(
        struct A {
            #[canonical(observation)]
            #[canonical(derived)]
            x: u8,
        }
    );
    assert_eq!(one, [expected]);
    assert_eq!(two, [expected]);
}

#[test]
fn unknown_keys_are_named_with_what_is_known_there() {
    let messages = canonical_refusal!(
        #[canonical(skip)]
        enum A {
            #[canonical(tag = 3)]
            B {
                #[canonical(crate = c)]
                x: u8,
            },
        }
    );
    let expected = [
        r#"unknown key `skip` on a type (known: `name = "..."`, `crate = path`)"#,
        r#"unknown key `tag` on a variant (known: `name = "..."`)"#,
        r#"unknown key `crate` on a field (known: `authoritative`, `observation`, `presentation`, `derived`, `name = "..."`)"#,
    ];
    assert_eq!(messages, expected);
}

#[test]
fn roles_of_types_and_variants_are_refused() {
    let messages = canonical_refusal!(
        #[canonical(derived)]
        enum A {
            #[canonical(observation)]
            B(u8),
        }
    );
    let expected = [
        r#"`derived` is a role of fields, but this is a type (mark the fields that have it; known here: `name = "..."`, `crate = path`)"#,
        r#"`observation` is a role of fields, but this is a variant (mark the fields that have it; known here: `name = "..."`)"#,
    ];
    assert_eq!(messages, expected);
}

#[test]
fn keys_given_twice_are_refused() {
    let messages = canonical_refusal!(
        #[canonical(name = "B", name = "C")]
        struct A;
    );
    assert_eq!(messages, ["`name` is given twice (keep one)"]);
}

#[test]
fn variants_that_share_a_tag_are_refused() {
    // Found by trying names of four letters.
    let messages = canonical_refusal!(
        enum A {
            Bvsh,
            Other,
            Ceec,
        }
    );
    let expected = "variants `Bvsh` and `Ceec` of `A` share the tag 9e057d38, a hash of their names (give one another \
                    name, or add `#[canonical(name = \"...\")]` to it)";
    assert_eq!(messages, [expected]);
}

#[test]
fn variants_that_share_a_name_are_refused() {
    let messages = canonical_refusal!(
        enum A {
            Open,
            #[canonical(name = "Open")]
            Ajar,
        }
    );
    let expected = "variants `Open` and `Ajar` of `A` are both named \"Open\" (give one another name, or add \
                    `#[canonical(name = \"...\")]` to it)";
    assert_eq!(messages, [expected]);
}

#[test]
fn field_names_that_make_no_schema_are_refused() {
    let twice = canonical_refusal!(
        struct A {
            x: u8,
            #[canonical(name = "x")]
            y: u8,
        }
    );
    assert_eq!(twice, ["two fields are named `x` in the schema (give one another name)"]);

    let mixed = canonical_refusal!(
        struct A(#[canonical(name = "x")] u8, u8);
    );
    assert_eq!(
        mixed,
        ["`1` is a position in a tuple, but other fields have names (name all fields, or each by its position)"]
    );

    let moved = canonical_refusal!(
        struct A(#[canonical(name = "1")] u8, #[canonical(name = "0")] u8);
    );
    assert_eq!(moved, ["`1` stands at position 0 of a tuple (name all fields, or each by its position)"]);

    let left_out = canonical_refusal!(
        struct A(#[canonical(derived, name = "x")] u8);
    );
    assert_eq!(left_out, ["a field that is left out of the schema has no name there (remove the name or the role)"]);
}

#[test]
fn texts_that_are_no_names_are_refused() {
    let messages = canonical_refusal!(
        #[canonical(name = "")]
        enum A {
            #[canonical(name = "0")]
            B {
                #[canonical(name = "x-y")]
                x: u8,
            },
        }
    );
    let expected = [
        r#""" is no name of a type (use text without white space)"#,
        r#""0" is no name of a variant (use an identifier)"#,
        r#""x-y" is no name of a field (use an identifier, or its position in a tuple)"#,
    ];
    assert_eq!(messages, expected);
}

#[test]
fn types_without_canonical_form_are_refused() {
    let union = canonical_refusal!(
        union A {
            x: u8,
        }
    );
    assert_eq!(union, ["a union does not say which of its fields is valid, so it has no canonical form (use an enum)"]);

    let empty = canonical_refusal!(
        enum A {}
    );
    assert_eq!(empty, ["enum `A` has no variants, so it has no values to encode (add a variant)"]);

    let borrowing = canonical_refusal!(
        struct A<'a>(&'a str);
    );
    assert_eq!(
        borrowing,
        ["`A` borrows for `'a`, but authoritative state owns its data (store the value, or an id that finds it)"]
    );
}

#[test]
fn tick_input_that_is_no_struct_is_refused() {
    let expected = "recorded input is a struct, so that each field has a name (wrap the enum in one)";
    let of_enum = tick_input_refusal!(
        enum A {
            B(#[once] bool),
        }
    );
    assert_eq!(of_enum, [expected]);
}

#[test]
fn misplaced_one_shots_are_refused() {
    let on_type = tick_input_refusal!(
        #[once]
        struct A(bool);
    );
    assert_eq!(on_type, ["`#[once]` is said of a field (move it to each field that one tick uses up)"]);

    let with_arguments = tick_input_refusal!(
        struct A(#[once(true)] bool);
    );
    assert_eq!(with_arguments, ["`#[once]` takes no arguments (write `#[once]`)"]);

    let twice = tick_input_refusal!(
        struct A(
            #[once]
            #[once]
            bool,
        );
    );
    assert_eq!(twice, ["`#[once]` is given twice (keep one)"]);

    let left_out = tick_input_refusal!(
        struct A(
            #[once]
            #[canonical(presentation)]
            bool,
        );
    );
    let expected = "`#[once]` is for recorded fields, but the role `presentation` leaves this one out of the tape (remove \
                    one of both)";
    assert_eq!(left_out, [expected]);
}

#[test]
fn the_marker_is_for_types_of_bevy_replays_users_only() -> syn::Result<()> {
    let declared = |input| Ok::<_, syn::Error>(canonical::derive(&input)?.to_string().contains("Declared"));
    assert!(declared(parse_quote!(
        struct A;
    ))?);
    assert!(!declared(parse_quote!(
        #[canonical(crate = other)]
        struct A;
    ))?);
    Ok(())
}

#[test]
fn label_of_a_stream_has_one_name() {
    let refused = |input| refusal(stream_label::derive(&input));
    let generic = refused(parse_quote!(
        struct Loot<T>(T);
    ));
    assert_eq!(generic, ["a stream has one name, so its label has no parameters (declare one label per stream)"]);
    let twice = refused(parse_quote!(
        #[stream(name = "a")]
        #[stream(name = "b")]
        struct Loot;
    ));
    assert_eq!(twice, ["the name is given twice (keep one)"]);
    let unknown = refused(parse_quote!(
        #[stream(seed = 7)]
        struct Loot;
    ));
    assert_eq!(unknown, ["a stream label has one attribute, `#[stream(name = \"…\")]`"]);
    let empty = refused(parse_quote!(
        #[stream(name = "")]
        struct Loot;
    ));
    assert_eq!(empty, ["a stream has a name (at least one letter)"]);
}
