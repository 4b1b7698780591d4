use bevy_replay_tape::*;
#[derive(Canonical, Debug, PartialEq, Clone)]
#[canonical(crate = bevy_replay_tape)]
struct Nest(Vec<Nest>);
fn nest(n: usize) -> Nest {
    let mut v = Nest(vec![]);
    for _ in 1..n {
        v = Nest(vec![v]);
    }
    v
}
fn run(stack: usize, f: impl FnOnce() + Send + 'static) -> bool {
    std::thread::Builder::new().stack_size(stack).spawn(f).unwrap().join().is_ok()
}
#[test]
fn typed() {
    let kb: usize = std::env::var("KB").unwrap().parse().unwrap();
    let what = std::env::var("WHAT").unwrap();
    let n: usize = std::env::var("N").unwrap().parse().unwrap();
    run(kb * 1024, move || {
        let v = nest(n);
        let bytes = encode_to_vec(&v);
        match what.as_str() {
            "encode" => {}
            "typed" => println!("{:?}", decode_from_slice::<Nest>(&bytes).map(drop)),
            "value" => println!("{:?}", Value::decode(&Nest::schema(), &bytes).map(drop)),
            "show" => println!("{:?}", Value::decode(&Nest::schema(), &bytes).unwrap().to_string().len()),
            "text" => {
                let text = format!("{}{}", "([".repeat(n), "])".repeat(n));
                println!("{:?}", encode_text(&Nest::schema(), &text).map(drop))
            }
            "raw" => {
                let text = format!("{}{}", "([".repeat(n), "])".repeat(n));
                println!("{:?}", ron::from_str::<Box<ron::value::RawValue>>(&text).map(drop))
            }
            _ => panic!(),
        }
    });
}
