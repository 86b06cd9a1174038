//! The life of a reservation over the wire, and what each side sees of it.

use serde_json::{Value, json};

use super::process::Broker;
use super::tools::{advertise, advertisement, id_of, request, reserve};

#[test]
fn what_is_advertised_is_shown_with_what_is_left() {
    let broker = Broker::start();
    let rome = broker.cluster("rome");
    assert_eq!(rome.get("/api/v1/advertisements/rome").problem(404), "unknown-cluster");
    let answer = advertise(&rome, "rome", "8", "16Gi");
    assert_eq!(answer["advertisement"]["resources"]["available"]["cpu"], "8");
    assert_eq!(answer.get("providerInstructions"), None);
    reserve(&broker.cluster("paris"), "2", "4Gi");
    let shown = rome.get("/api/v1/advertisements/rome").expect(200);
    assert_eq!(shown["resources"]["reserved"], json!({"cpu": "2", "memory": "4Gi"}));
    assert_eq!(shown["resources"]["available"], json!({"cpu": "6", "memory": "12Gi"}));
    let own = rome.get("/api/v1/advertisements").expect(200);
    assert_eq!(own.as_array().unwrap().len(), 1);
}

#[test]
fn a_reservation_is_granted_used_prolonged_and_given_back() {
    let broker = Broker::start();
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    advertise(&rome, "rome", "8", "16Gi");
    let mut asked = request("2", "4Gi");
    asked["duration"] = json!("1h");
    let made = paris.post("/api/v1/reservations", &asked);
    let body = made.expect(201);
    assert_eq!(body["targetClusterID"], "rome");
    assert_eq!(body["requesterID"], "paris");
    assert_eq!(body["status"]["phase"], "Reserved");
    let path = format!("/api/v1/reservations/{}", id_of(&body));
    assert_eq!(made.header("location"), Some(path.as_str()));
    for side in [&rome, &paris] {
        assert_eq!(side.get(&path).expect(200), body);
    }
    let told = rome.get("/api/v1/instructions").expect(200);
    assert_eq!(told[0]["id"], body["id"]);
    assert_eq!(told[0]["status"]["message"], "Hold 2 CPU / 4Gi Memory for requester paris");
    let active = paris.post(&format!("{path}/activate"), &json!({})).expect(200);
    assert_eq!(active["status"]["phase"], "Active");
    let told = rome.get("/api/v1/instructions").expect(200);
    assert_eq!(told[0]["status"]["phase"], "Reserved", "older agents act on this word only");
    assert_eq!(told[0]["status"]["reservationPhase"], "Active");
    let end = json!({"expiresAt": "2099-01-01T00:00:00Z"});
    let renewed = paris.post(&format!("{path}/renew"), &end);
    assert_eq!(renewed.problem(422), "too-long");
    let soon = json!({"expiresAt": in_two_hours()});
    let renewed = paris.post(&format!("{path}/renew"), &soon).expect(200);
    assert_eq!(renewed["status"]["expiresAt"], soon["expiresAt"]);
    for _ in 0..2 {
        let released = paris.delete(&path).expect(200);
        assert_eq!(released["status"]["phase"], "Released");
    }
    assert_eq!(rome.get("/api/v1/instructions").expect(200), json!([]));
    let shown = rome.get("/api/v1/advertisements/rome").expect(200);
    assert_eq!(shown["resources"]["available"]["cpu"], "8");
}

pub(crate) fn in_two_hours() -> String {
    let output = std::process::Command::new("date")
        .args(["-u", "-d", "2 hours", "+%Y-%m-%dT%H:%M:%SZ"])
        .output();
    String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
}

#[test]
fn a_provider_may_refuse_and_the_requester_learns_why() {
    let broker = Broker::start();
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    advertise(&rome, "rome", "8", "16Gi");
    let path = format!("/api/v1/reservations/{}", id_of(&reserve(&paris, "1", "1Gi")));
    let reason = json!({"reason": "the power is out"});
    assert_eq!(paris.post(&format!("{path}/reject"), &reason).problem(403), "not-allowed");
    let rejected = rome.post(&format!("{path}/reject"), &reason).expect(200);
    assert_eq!(rejected["status"]["phase"], "Failed");
    let message = paris.get(&path).expect(200)["status"]["message"].clone();
    assert!(message.as_str().unwrap().contains("the power is out"), "{message}");
    let again = paris.post(&format!("{path}/activate"), &json!({}));
    assert_eq!(again.problem(409), "already-ended");
}

#[test]
fn a_refusal_says_for_each_cluster_what_was_missing() {
    let broker = Broker::start();
    advertise(&broker.cluster("rome"), "rome", "4", "16Gi");
    advertise(&broker.cluster("oslo"), "oslo", "8", "1Gi");
    let refused = broker.cluster("paris").post("/api/v1/reservations", &request("6", "8Gi"));
    assert_eq!(refused.problem(409), "no-room");
    let candidates = refused.json()["candidates"].clone();
    let of = |name: &str| {
        let candidates = candidates.as_array().unwrap();
        candidates.iter().find(|candidate| candidate["clusterID"] == name).unwrap().clone()
    };
    let rome = of("rome");
    assert_eq!(
        (&rome["dimension"], &rome["requested"], &rome["available"]),
        (&json!("cpu"), &json!("6"), &json!("4"))
    );
    assert_eq!(of("oslo")["dimension"], "memory");
}

#[test]
fn names_of_others_are_left_out_where_the_operator_wants_that() {
    let broker = Broker::start_with(&["--hide-names"]);
    advertise(&broker.cluster("rome"), "rome", "4", "16Gi");
    let refused = broker.cluster("paris").post("/api/v1/reservations", &request("6", "8Gi"));
    assert_eq!(refused.problem(409), "no-room");
    assert!(!String::from_utf8_lossy(&refused.body).contains("rome"));
}

#[test]
fn a_dry_run_explains_and_locks_nothing() {
    let broker = Broker::start();
    let paris = broker.cluster("paris");
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    advertise(&broker.cluster("oslo"), "oslo", "1", "1Gi");
    let shown = paris.post("/api/v1/reservations?dryRun=true", &request("2", "4Gi")).expect(200);
    assert_eq!(shown["target"], "rome");
    assert_eq!(shown["candidates"][0]["fits"], true);
    assert_eq!(shown["candidates"][1]["fits"], false);
    assert_eq!(paris.get("/api/v1/reservations").expect(200), json!([]));
    let refused = paris.post("/api/v1/reservations?dryRun=maybe", &request("2", "4Gi"));
    assert_eq!(refused.problem(400), "unreadable");
    let refused = paris.post("/api/v1/reservations?dryrun=true", &request("2", "4Gi"));
    assert_eq!(refused.problem(400), "unreadable");
}

#[test]
fn target_labels_strategy_and_price_are_heeded() {
    let broker = Broker::start();
    for (name, cpu, price, zone) in [("rome", "8", "2", "south"), ("oslo", "16", "1", "north")] {
        let mut told = advertisement(name, cpu, "64Gi");
        told["labels"] = json!({"zone": zone});
        told["cost"] = json!({"cpuCost": price, "memoryCost": "0", "currency": "EUR"});
        broker.cluster(name).post("/api/v1/advertisements", &told).expect(200);
    }
    let paris = broker.cluster("paris");
    let target = |change: Value| {
        let mut asked = request("1", "1Gi");
        for (member, value) in change.as_object().unwrap() {
            asked[member] = value.clone();
        }
        let path = "/api/v1/reservations?dryRun=true";
        paris.post(path, &asked).expect(200)["target"].clone()
    };
    assert_eq!(target(json!({})), "oslo");
    assert_eq!(target(json!({"targetClusterID": "rome"})), "rome");
    assert_eq!(target(json!({"strategy": "binpack"})), "rome");
    assert_eq!(target(json!({"constraints": {"labels": {"zone": "south"}}})), "rome");
    let cheap = json!({"maxPrice": {"amount": "1.5", "currency": "EUR"}});
    assert_eq!(target(json!({"constraints": cheap})), "oslo");
    let cheap = json!({"maxPrice": {"amount": "0.5", "currency": "EUR"}});
    assert_eq!(target(json!({"constraints": cheap})), Value::Null);
}

#[test]
fn the_same_key_gives_the_same_reservation_also_after_a_kill() {
    let mut broker = Broker::start();
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    let paris = broker.cluster("paris");
    let ask = |client: &super::client::Client, key: &str, cpu: &str| {
        let body = request(cpu, "1Gi").to_string();
        let mut connection = client.connect().unwrap();
        let headers = [("Idempotency-Key", key)];
        connection.call("POST", "/api/v1/reservations", &headers, Some(body.as_bytes())).unwrap()
    };
    let first = ask(&paris, "k-1", "1").expect(201);
    assert_eq!(ask(&paris, "k-1", "1").expect(201), first);
    assert_eq!(ask(&paris, "k-1", "2").problem(409), "key-reused");
    assert_ne!(ask(&paris, "k-2", "1").expect(201), first);
    broker.kill_and_restart();
    let paris = paris.at(broker.address);
    assert_eq!(ask(&paris, "k-1", "1").expect(201), first);
    assert_eq!(ask(&paris, &"k".repeat(300), "1").problem(422), "invalid");
    assert_eq!(paris.get("/api/v1/reservations").expect(200).as_array().unwrap().len(), 2);
}

#[test]
fn lists_are_filtered_and_come_page_by_page() {
    let broker = Broker::start();
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    advertise(&rome, "rome", "100", "100Gi");
    let made: Vec<String> = (0..5).map(|_| id_of(&reserve(&paris, "1", "1Gi"))).collect();
    paris.delete(&format!("/api/v1/reservations/{}", made[0])).expect(200);
    let ids = |path: &str| {
        let found = paris.get(path).expect(200);
        found.as_array().unwrap().iter().map(id_of).collect::<Vec<_>>()
    };
    assert_eq!(ids("/api/v1/reservations"), made);
    assert_eq!(ids("/api/v1/reservations?role=requester&phase=Reserved"), made[1..]);
    assert_eq!(ids("/api/v1/reservations?phase=Released"), made[..1]);
    let of = |id: &String, action: &str| format!("/api/v1/reservations/{id}/{action}");
    paris.call("POST", &of(&made[1], "activate"), None).expect(200);
    rome.post(&of(&made[2], "reject"), &json!({"reason": "full"})).expect(200);
    assert_eq!(ids("/api/v1/reservations?phase=Active"), made[1..2]);
    assert_eq!(ids("/api/v1/reservations?phase=Failed"), made[2..3]);
    assert!(ids("/api/v1/reservations?role=provider").is_empty());
    let mut found = Vec::new();
    let mut next = Some("/api/v1/reservations?role=requester&limit=2".to_owned());
    while let Some(path) = next {
        let page = paris.get(&path);
        let items = page.expect(200);
        assert!(items.as_array().unwrap().len() <= 2);
        found.extend(items.as_array().unwrap().iter().map(id_of));
        let link = page.header("link").map(ToOwned::to_owned);
        next = link.map(|link| link.split(['<', '>']).nth(1).unwrap().to_owned());
    }
    assert_eq!(found, made);
    for bad in ["role=boss", "phase=Gone", "limit=0", "limit=x", "cursor=x", "colour=red"] {
        let refused = paris.get(&format!("/api/v1/reservations?{bad}"));
        assert_eq!(refused.problem(400), "unreadable", "{bad}");
    }
    let gone = paris.get(&format!("/api/v1/reservations?cursor=9.1~{}", made[0]));
    assert_eq!(gone.problem(410), "older-incarnation");
    let gone = paris.get("/api/v1/advertisements?cursor=9.1~oslo");
    assert_eq!(gone.problem(410), "older-incarnation");
}

#[test]
fn every_answer_names_the_state_that_it_was_made_from() {
    let broker = Broker::start();
    let rome = broker.cluster("rome");
    let revision = |answer: &super::client::Answer| {
        let text = answer.header("rear-revision").unwrap().to_owned();
        let (incarnation, number) = text.split_once('.').unwrap();
        (incarnation.parse::<u64>().unwrap(), number.parse::<u64>().unwrap())
    };
    let nothing = rome.get("/api/v1/nothing");
    assert_eq!(nothing.problem(404), "not-found");
    let told = rome.post("/api/v1/advertisements", &advertisement("rome", "8", "16Gi"));
    assert!(revision(&told) > revision(&nothing));
    assert_eq!(rome.call("PUT", "/api/v1/advertisements", None).problem(405), "method-not-allowed");
}

#[test]
fn an_answer_is_as_new_as_its_caller_has_seen_or_none() {
    let broker = Broker::start();
    let rome = broker.cluster("rome");
    let ask = |seen: &str| {
        let seen = [("REAR-At-Least", seen)];
        rome.connect().unwrap().call("GET", "/api/v1/instructions", &seen, None).unwrap()
    };
    let told = rome.post("/api/v1/advertisements", &advertisement("rome", "8", "16Gi"));
    let seen = told.header("rear-revision").unwrap();
    assert_eq!(ask(seen).expect(200), json!([]));
    assert_eq!(ask("yesterday").problem(400), "unreadable");
    let (incarnation, number) = seen.split_once('.').unwrap();
    let later = |more: u64| format!("{incarnation}.{}", number.parse::<u64>().unwrap() + more);
    let mut waiting = rome.connect().unwrap();
    let next = later(1);
    let head = "GET /api/v1/instructions HTTP/1.1\r\nHost: x\r\nREAR-At-Least: ";
    waiting.send(format!("{head}{next}\r\n\r\n").as_bytes()).unwrap();
    reserve(&broker.cluster("paris"), "1", "1Gi");
    let answer = waiting.answer().unwrap();
    answer.expect(200);
    let number = |text: &str| text.split_once('.').unwrap().1.parse::<u64>().unwrap();
    assert!(number(answer.header("rear-revision").unwrap()) >= number(&next));
    // What never comes to pass is not waited for without end.
    let late = ask(&later(1000));
    assert_eq!((late.problem(503).as_str(), late.header("retry-after")), ("not-ready", Some("1")));
}

#[test]
fn an_operator_can_look_act_for_others_release_and_forget() {
    let broker = Broker::start();
    let (operator, rome) = (broker.administrator(), broker.cluster("rome"));
    advertise(&rome, "rome", "8", "16Gi");
    let mut asked = request("1", "1Gi");
    asked["onBehalfOf"] = json!("paris");
    assert_eq!(rome.post("/api/v1/reservations", &asked).problem(403), "other-cluster");
    let made = operator.post("/api/v1/reservations", &asked).expect(201);
    assert_eq!(made["requesterID"], "paris");
    let path = format!("/api/v1/reservations/{}", id_of(&made));
    assert_eq!(operator.get(&path).expect(200), made);
    assert_eq!(operator.get("/api/v1/reservations").expect(200).as_array().unwrap().len(), 1);
    assert_eq!(operator.get("/api/v1/advertisements").expect(200)[0]["clusterID"], "rome");
    assert_eq!(operator.delete(&path).expect(200)["status"]["phase"], "Released");
    let paris = broker.cluster("paris");
    let kept = reserve(&paris, "1", "1Gi");
    assert_eq!(rome.delete("/api/v1/advertisements/rome").problem(403), "not-allowed");
    assert_eq!(operator.delete("/api/v1/advertisements/rome").expect(200)["clusterID"], "rome");
    let path = format!("/api/v1/reservations/{}", id_of(&kept));
    assert_eq!(paris.get(&path).expect(200)["status"]["phase"], "Failed");
    assert_eq!(operator.delete("/api/v1/advertisements/rome").problem(404), "unknown-cluster");
}

#[test]
fn a_reservation_ends_at_its_time_and_not_a_minute_later() {
    let broker = Broker::start();
    let (rome, paris) = (broker.cluster("rome"), broker.cluster("paris"));
    advertise(&rome, "rome", "8", "16Gi");
    let mut asked = request("8", "1Gi");
    asked["duration"] = json!("1s");
    let made = paris.post("/api/v1/reservations", &asked).expect(201);
    let seen = rome.get("/api/v1/instructions");
    assert_eq!(seen.expect(200).as_array().unwrap().len(), 1);
    let after = seen.header("rear-revision").unwrap();
    // The provider is told when it ends, without asking again.
    let news = rome.get(&format!("/api/v1/instructions?wait=30s&after={after}"));
    assert_eq!(news.expect(200), json!([]));
    let path = format!("/api/v1/reservations/{}", id_of(&made));
    let ended = paris.get(&path).expect(200);
    assert_eq!(ended["status"]["phase"], "Released");
    assert_eq!(ended["status"]["message"], "expired");
    reserve(&paris, "8", "1Gi");
}

#[test]
fn operators_set_a_default_and_a_longest_duration() {
    let broker = Broker::start_with(&["--default-duration", "1h", "--max-duration", "2h"]);
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    let paris = broker.cluster("paris");
    assert!(reserve(&paris, "1", "1Gi")["status"]["expiresAt"].is_string());
    let mut asked = request("1", "1Gi");
    asked["duration"] = json!("2h1s");
    assert_eq!(paris.post("/api/v1/reservations", &asked).problem(422), "too-long");
}

#[test]
fn nobody_has_more_reservations_than_the_operator_allows() {
    let broker = Broker::start_with(&["--max-reservations", "2"]);
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    let paris = broker.cluster("paris");
    let made = reserve(&paris, "1", "1Gi");
    reserve(&paris, "1", "1Gi");
    let refused = || paris.post("/api/v1/reservations", &request("1", "1Gi"));
    assert_eq!(refused().problem(409), "too-many-reservations");
    // Whoever ends one has still made it, and may ask about it.
    let path = format!("/api/v1/reservations/{}", id_of(&made));
    paris.delete(&path).expect(200);
    assert_eq!(refused().problem(409), "too-many-reservations");
    assert_eq!(paris.get(&path).expect(200)["status"]["phase"], "Released");
    reserve(&broker.cluster("oslo"), "1", "1Gi");
}

#[test]
fn a_dry_run_is_refused_where_the_request_would_be() {
    let broker = Broker::start_with(&["--max-reservations", "1", "--max-duration", "1h"]);
    advertise(&broker.cluster("rome"), "rome", "8", "16Gi");
    let paris = broker.cluster("paris");
    let mut asked = request("1", "1Gi");
    asked["duration"] = json!("2h");
    let explained = |asked: &Value| paris.post("/api/v1/reservations?dryRun=true", asked);
    assert_eq!(explained(&asked).problem(422), "too-long");
    asked["duration"] = json!("1h");
    assert_eq!(explained(&asked).expect(200)["target"], "rome");
    paris.post("/api/v1/reservations", &asked).expect(201);
    assert_eq!(explained(&asked).problem(409), "too-many-reservations");
}

#[test]
fn a_query_that_is_not_known_is_refused_before_anything_is_done() {
    let broker = Broker::start();
    let (operator, rome, paris) =
        (broker.administrator(), broker.cluster("rome"), broker.cluster("paris"));
    advertise(&rome, "rome", "8", "16Gi");
    let path = format!("/api/v1/reservations/{}", id_of(&reserve(&paris, "1", "1Gi")));
    let refused = |answer: super::client::Answer| assert_eq!(answer.problem(400), "unreadable");
    // Whoever writes this does not want it to be done.
    refused(paris.delete(&format!("{path}?dryRun=true")));
    refused(paris.call("POST", &format!("{path}/activate?dryRun=true"), None));
    refused(rome.post(&format!("{path}/reject?dryRun=true"), &json!({"reason": "full"})));
    refused(operator.delete("/api/v1/advertisements/rome?dryRun=true"));
    refused(operator.post("/api/v1/recovery/end?dryRun=true", &json!({"all": true})));
    refused(paris.get(&format!("{path}?fields=id")));
    // Some clients of event streams send it so, and would miss what happened since.
    refused(paris.get("/api/v1/events?lastEventId=1.1-0"));
    let kept = paris.get(&format!("{path}?consistency=linearizable")).expect(200);
    assert_eq!(kept["status"]["phase"], "Reserved");
    assert_eq!(paris.delete(&format!("{path}?")).expect(200)["status"]["phase"], "Released");
}

#[test]
fn a_method_that_is_not_there_is_told_which_are() {
    let broker = Broker::start();
    let paris = broker.cluster("paris");
    let refused = paris.call("PUT", "/api/v1/reservations", None);
    assert_eq!(refused.problem(405), "method-not-allowed");
    let mut allowed: Vec<&str> = refused.header("allow").unwrap().split(',').collect();
    allowed.sort_unstable();
    assert_eq!(allowed, ["GET", "HEAD", "POST"]);
}

#[test]
fn a_limit_is_a_number_that_a_link_can_repeat() {
    let broker = Broker::start();
    let paris = broker.cluster("paris");
    assert_eq!(paris.get("/api/v1/reservations?limit=%2B5").problem(400), "unreadable");
    paris.get("/api/v1/reservations?limit=5").expect(200);
}
