//! Many at once: exactly as much is granted as there is, and nothing is lost when the process dies.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rear_store::verify::verify_file;
use serde_json::json;

use super::client::{Answer, Client};
use super::process::Broker;
use super::tools::{advertise, id_of, request};

/// Callers that ask at the same time, each on a connection of its own.
fn rush(client: &Client, callers: usize, each: usize, cpu: &str) -> Vec<Answer> {
    let body = request(cpu, "1Mi").to_string();
    thread::scope(|scope| {
        let call = || {
            let mut connection = client.connect().unwrap();
            let ask = |_| {
                let body = Some(body.as_bytes());
                connection.call("POST", "/api/v1/reservations", &[], body).unwrap()
            };
            (0..each).map(ask).collect::<Vec<_>>()
        };
        let callers: Vec<_> = (0..callers).map(|_| scope.spawn(call)).collect();
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    })
}

#[test]
fn sixty_four_clients_after_the_last_ten_cores_get_exactly_ten() {
    let mut broker = Broker::start();
    let rome = broker.cluster("rome");
    advertise(&rome, "rome", "10", "64Gi");
    let answers = rush(&broker.cluster("paris"), 64, 1, "1");
    let granted = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(granted, 10);
    for refused in answers.iter().filter(|answer| answer.status != 201) {
        assert_eq!(refused.problem(409), "no-room");
        assert_eq!(refused.json()["candidates"][0]["available"], "0");
    }
    let shown = rome.get("/api/v1/advertisements/rome").expect(200);
    assert_eq!(shown["resources"]["reserved"], json!({"cpu": "10", "memory": "10Mi"}));
    assert!(broker.stop().success());
    assert_eq!(verify_file(&broker.ledger()).unwrap().findings, []);
}

#[test]
fn with_plenty_of_room_not_one_of_sixty_four_is_refused() {
    let mut broker = Broker::start();
    let rome = broker.cluster("rome");
    advertise(&rome, "rome", "100000", "100Ti");
    let answers = rush(&broker.cluster("paris"), 64, 10, "1m");
    assert!(answers.iter().all(|answer| answer.status == 201));
    let shown = rome.get("/api/v1/advertisements/rome").expect(200);
    assert_eq!(shown["resources"]["reserved"], json!({"cpu": "640m", "memory": "640Mi"}));
    assert!(broker.stop().success());
    assert_eq!(verify_file(&broker.ledger()).unwrap().findings, []);
}

#[test]
fn a_kill_under_load_loses_nothing_that_was_acknowledged() {
    let mut broker = Broker::start();
    advertise(&broker.cluster("rome"), "rome", "100000", "100Ti");
    let paris = broker.cluster("paris");
    let made = AtomicUsize::new(0);
    let body = request("1m", "1Mi").to_string();
    let acknowledged: Vec<String> = thread::scope(|scope| {
        let callers: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    let mut connection = paris.connect().unwrap();
                    let mut acknowledged = Vec::new();
                    // Until the broker is gone.
                    while let Ok(answer) =
                        connection.call("POST", "/api/v1/reservations", &[], Some(body.as_bytes()))
                    {
                        acknowledged.push(id_of(&answer.expect(201)));
                        made.fetch_add(1, Ordering::SeqCst);
                    }
                    acknowledged
                })
            })
            .collect();
        while made.load(Ordering::SeqCst) < 300 {
            thread::yield_now();
        }
        broker.kill_and_restart();
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    let paris = paris.at(broker.address);
    let mut connection = paris.connect().unwrap();
    for id in &acknowledged {
        let path = format!("/api/v1/reservations/{id}");
        assert_eq!(connection.call("GET", &path, &[], None).unwrap().status, 200, "{id}");
    }
    assert!(broker.stop().success());
    assert_eq!(verify_file(&broker.ledger()).unwrap().findings, []);
}

#[test]
fn a_lost_reply_and_a_retry_with_the_same_key_make_one_reservation() {
    let broker = Broker::start();
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    let paris = broker.cluster("paris");
    let body = request("1", "1Gi").to_string();
    let head = format!(
        "POST /api/v1/reservations HTTP/1.1\r\nHost: x\r\nIdempotency-Key: once\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    for _ in 0..3 {
        // The connection goes before the answer is read.
        paris.connect().unwrap().send(head.as_bytes()).unwrap();
    }
    let mut connection = paris.connect().unwrap();
    let headers = [("Idempotency-Key", "once")];
    let answer = connection.call("POST", "/api/v1/reservations", &headers, Some(body.as_bytes()));
    let made = answer.unwrap().expect(201);
    let all = paris.get("/api/v1/reservations").expect(200);
    assert_eq!(all, json!([made]));
}

#[test]
fn what_was_accepted_is_answered_when_the_broker_stops() {
    let mut broker = Broker::start();
    advertise(&broker.cluster("rome"), "rome", "100000", "100Ti");
    let paris = broker.cluster("paris");
    let body = request("1m", "1Mi").to_string();
    let mut waiting = paris.connect().unwrap();
    let first = waiting.call("GET", "/api/v1/instructions", &[], None).unwrap();
    let after = first.header("rear-revision").unwrap().to_owned();
    let ask =
        format!("GET /api/v1/instructions?wait=60s&after={after} HTTP/1.1\r\nHost: x\r\n\r\n");
    waiting.send(ask.as_bytes()).unwrap();
    // The body of this one comes after the broker was told to stop.
    let mut late = paris.connect().unwrap();
    let head = format!(
        "POST /api/v1/reservations HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    late.send(head.as_bytes()).unwrap();
    assert_eq!(late.head().unwrap().0, 100);
    let made = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut connection = paris.connect().unwrap();
                loop {
                    let sent =
                        connection.call("POST", "/api/v1/reservations", &[], Some(body.as_bytes()));
                    // Closed between two requests: this one was not read.
                    let Ok(answer) = sent else { break };
                    answer.expect(201);
                    made.fetch_add(1, Ordering::SeqCst);
                    if answer.header("connection") == Some("close") {
                        break;
                    }
                }
            });
        }
        while made.load(Ordering::SeqCst) < 100 {
            thread::yield_now();
        }
        broker.signal("TERM");
        waiting.answer().unwrap().expect(200);
        late.send(body.as_bytes()).unwrap();
        late.answer().unwrap().expect(201);
        assert!(broker.wait().success());
    });
    broker.restart();
    let all = broker.administrator().get("/api/v1/advertisements/rome").expect(200);
    let answered = made.load(Ordering::SeqCst) + 1;
    assert_eq!(all["resources"]["reserved"]["cpu"], json!(format!("{answered}m")));
}

#[test]
fn whoever_confirms_prolongs_and_gives_back_at_its_end_gets_it_back_once() {
    let broker = Broker::start();
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    advertise(&rome, "rome", "8", "16Gi");
    let mut wish = request("100m", "64Mi");
    wish["duration"] = json!("2s");
    let made: Vec<String> =
        (0..40).map(|_| id_of(&paris.post("/api/v1/reservations", &wish).expect(201))).collect();
    let later = "2099-01-01T00:00:00Z";
    let renewal = json!({"expiresAt": super::reservations::in_two_hours()});
    let never = json!({"expiresAt": later});
    // All at once, again and again, until each has ended one way or another.
    thread::scope(|scope| {
        for verb in ["activate", "renew", "reject", "release"] {
            let (broker, made, renewal, never) = (&broker, &made, &renewal, &never);
            scope.spawn(move || {
                let who = broker.cluster(if verb == "reject" { "rome" } else { "paris" });
                for round in 0..3 {
                    for (number, id) in made.iter().enumerate() {
                        // Only some are given back or refused: the others run into their end, or are prolonged.
                        let path = format!("/api/v1/reservations/{id}");
                        let answer = match verb {
                            "release" if number % 4 == 1 => who.delete(&path),
                            "reject" if number % 4 == 2 && round > 0 => {
                                who.post(&format!("{path}/reject"), &json!({"reason": "full"}))
                            }
                            "renew" if number % 4 == 3 => {
                                who.post(&format!("{path}/renew"), renewal)
                            }
                            "renew" => who.post(&format!("{path}/renew"), never),
                            "activate" => who.call("POST", &format!("{path}/activate"), None),
                            _ => continue,
                        };
                        let expected = [200, 404, 409, 422];
                        assert!(expected.contains(&answer.status), "{verb}: {}", answer.status);
                    }
                }
            });
        }
    });
    for id in &made {
        let path = format!("/api/v1/reservations/{id}");
        let mut phase = paris.get(&path).expect(200)["status"]["phase"].clone();
        if phase == "Reserved" || phase == "Active" {
            paris.delete(&path).expect(200);
            phase = paris.get(&path).expect(200)["status"]["phase"].clone();
        }
        assert!(phase == "Released" || phase == "Failed", "{id}: {phase}");
    }
    let shown = rome.get("/api/v1/advertisements/rome").expect(200);
    assert_eq!(shown["resources"]["available"]["cpu"], "8", "{shown}");
    assert_eq!(shown["resources"]["available"]["memory"], "16Gi", "{shown}");
}
