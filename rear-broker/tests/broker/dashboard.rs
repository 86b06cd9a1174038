//! The dashboard in a real browser: what it shows, that it lives, and that nothing on it is broken or unreachable.

mod browser;
mod huge;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use rear_engine::Duration;
use rear_store::clock::{Clock, SystemClock};
use rear_testbed::artifacts::Places;
use rear_testbed::artifacts::npm::Axe;
use serde_json::{Value, json};

use super::client::Client;
use super::pki::Subject;
use super::process::Broker;
use browser::Browser;

/// Tells what someone who cannot see, point or tell colours apart would stumble over.
const JUDGE: &str = include_str!("dashboard/judge.js");

/// The pages, by what stands on them when they are there.
const PAGES: [(&str, &str); 4] = [
    ("#/", "How much there is"),
    ("#/clusters", "paris"),
    ("#/reservations", "Reservations"),
    ("#/try", "Nothing is locked"),
];

struct Stage {
    broker: Broker,
    address: String,
}

impl Stage {
    fn start() -> Self {
        let broker = Broker::start();
        let port = broker.listener("operations").port();
        Self { broker, address: format!("http://localhost:{port}/") }
    }

    fn advertise(&self, name: &str, shown: &str, cpu: &str) -> Client {
        let cluster = self.broker.cluster(name);
        cluster.post("/api/v1/advertisements", &advertisement(name, shown, cpu)).expect(200);
        cluster
    }
}

fn advertisement(name: &str, shown: &str, cpu: &str) -> Value {
    let amounts = |cpu: &str, memory: &str| json!({ "cpu": cpu, "memory": memory });
    let resources = json!({
        "capacity": amounts(cpu, "64Gi"), "allocatable": amounts(cpu, "64Gi"), "allocated": amounts("1", "8Gi"),
    });
    json!({
        "clusterID": name, "clusterName": shown, "timestamp": "2026-11-16T12:00:00Z",
        "resources": resources, "labels": { "zone": "north" },
    })
}

fn reserve(requester: &Client, cpu: &str) -> String {
    let body = json!({ "requestedResources": { "cpu": cpu, "memory": "4Gi" }, "duration": "1h" });
    let made = requester.post("/api/v1/reservations", &body).expect(201);
    made["id"].as_str().unwrap().to_owned()
}

#[test]
fn everything_is_seen_at_a_glance_and_follows_what_happens() {
    let stage = Stage::start();
    let rome = stage.advertise("rome", "Roma", "8");
    stage.advertise("paris", "Paris", "32");
    let browser = Browser::open();
    browser.go(&stage.address);
    browser.until_text("Nobody borrows anything at the moment.");
    browser.until_text("38 cores\nfree of 40 cores");
    browser.until_text("Nothing is wrong.");
    let made = reserve(&rome, "4");
    browser.until_text("34 cores\nfree of 40 cores");
    browser.until(&format!("document.querySelector('.feed').innerText.includes('{made}')"));
    browser.until("document.querySelector('svg.flows path title').textContent === 'paris lends 4 cores and 4 GiB to rome'");
    let refused = json!({ "requestedResources": { "cpu": "1000", "memory": "1Gi" } });
    rome.post("/api/v1/reservations", &refused).problem(409);
    browser.until_text("reserve: no-room for rome");
    stage.advertise("paris", "Paris", "2");
    browser.until_text("1 have promised or used more than they have");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn lists_are_searched_and_lead_to_pages_of_their_own() {
    let stage = Stage::start();
    let rome = stage.advertise("rome", "Roma", "8");
    for number in 0..30 {
        stage.advertise(&format!("c{number:02}"), "A cluster", "4");
    }
    stage.advertise("paris", "Paris", "32");
    let made = reserve(&rome, "2");
    let browser = Browser::open();
    browser.go(&format!("{}#/clusters", stage.address));
    browser.until_text("32 of 32");
    browser.run("document.querySelector('input[name=search]').focus()");
    browser.press("par");
    browser.until_text("1 of 32");
    browser.run("document.querySelector('tbody a').click()");
    browser.until_text("It borrows nothing.");
    browser.until_text(&made);
    browser.run(&format!("location.hash = '#/reservations/{made}'"));
    let steps =
        "[...document.querySelectorAll('.timeline strong')].map((step) => step.textContent).join()";
    browser.until(&format!("{steps} === 'Locked,Ends'"));
    rome.post(&format!("/api/v1/reservations/{made}/activate"), &json!({})).expect(200);
    browser.until(&format!("{steps} === 'Locked,In use,Ends'"));
    rome.delete(&format!("/api/v1/reservations/{made}")).expect(200);
    browser.until(&format!("{steps} === 'Locked,Released'"));
    browser
        .until("document.querySelector('.timeline li:last-child').textContent.includes(' ago)')");
    browser.go(&format!("{}#/reservations?phase=Released", stage.address));
    browser.until_text("1 found");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// What the page of a cluster asks for.
fn told(stage: &Stage, query: &str) -> Value {
    let address = format!("{}{query}", stage.address);
    let output = Command::new("curl").args(["-sS", &address]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn what_has_ended_does_not_hide_what_a_cluster_lends() {
    let stage = Stage::start();
    let rome = stage.advertise("rome", "Roma", "2");
    stage.advertise("paris", "Paris", "32");
    stage.advertise("paris-2", "Paris", "1");
    let lent = reserve(&rome, "2");
    for _ in 0..201 {
        let ended = reserve(&rome, "1");
        rome.delete(&format!("/api/v1/reservations/{ended}")).expect(200);
    }
    for side in ["provider=paris", "requester=rome"] {
        let found = told(&stage, &format!("reservations.json?{side}&live=true"));
        assert_eq!((&found["matching"], &found["rows"][0]["id"]), (&json!(1), &json!(lent)));
    }
    assert_eq!(told(&stage, "reservations.json?provider=pari&live=true")["matching"], 0);
    assert_eq!(told(&stage, "clusters.json?id=paris")["matching"], 1);
    let newest = told(&stage, "reservations.json");
    assert_eq!((&newest["matching"], newest["rows"].as_array().unwrap().len()), (&json!(202), 200));
    let browser = Browser::open();
    browser.go(&format!("{}#/clusters/paris", stage.address));
    browser.until_text(&lent);
    browser.until_text("It borrows nothing.");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn clusters_whose_certificate_ends_soon_are_named() {
    let stage = Stage::start();
    stage.advertise("paris", "Paris", "32");
    let tomorrow = SystemClock::default().read().wall.plus(Duration::from_seconds(24 * 3600));
    let until = u64::try_from(tomorrow.as_nanos() / 1_000_000_000).ok();
    let subject = Subject { until, ..Subject::named(&["rome"]) };
    let rome = stage.broker.client(Some(&stage.broker.authority.client(&subject)));
    rome.post("/api/v1/advertisements", &advertisement("rome", "Roma", "8")).expect(200);
    let browser = Browser::open();
    browser.go(&stage.address);
    browser.until_text("1 have a certificate that ends soon");
    browser.until("document.querySelector('.troubles a').textContent === 'rome'");
}

#[test]
fn a_request_is_tried_without_locking_anything() {
    let stage = Stage::start();
    stage.advertise("rome", "Roma", "8");
    stage.advertise("paris", "Paris", "32");
    let browser = Browser::open();
    browser.go(&format!("{}#/try", stage.address));
    browser.until_text("Nothing is locked");
    browser.run("document.querySelector('input[name=cpu]').value = '16'");
    browser.run("document.querySelector('button[type=submit]').click()");
    browser.until_text("It would be granted on paris.");
    browser.until_text("cpu: 16 asked, 7 free");
    browser.run("document.querySelector('input[name=cpu]').value = 'a lot'");
    browser.run("document.querySelector('button[type=submit]').click()");
    browser.until(
        "document.querySelector('[role=alert]')?.innerText.includes('requestedResources.cpu')",
    );
    let live = stage.broker.administrator().get("/api/v1/reservations").expect(200);
    assert_eq!(live, json!([]));
}

#[test]
fn names_stay_names() {
    let stage = Stage::start();
    let name = "<img src=x onerror=\"document.title='owned'\">";
    stage.advertise("paris", name, "8");
    let browser = Browser::open();
    for page in ["#/clusters", "#/clusters/paris"] {
        browser.go(&format!("{}{page}", stage.address));
        browser.until_text(name);
        assert_eq!(browser.run("return document.querySelectorAll('main img').length"), json!(0));
    }
    assert_ne!(browser.run("return document.title"), json!("owned"));
}

#[test]
fn every_page_can_be_used_by_everyone_and_asks_nobody_else() {
    let stage = Stage::start();
    let rome = stage.advertise("rome", "Roma", "8");
    stage.advertise("paris", "Paris", "32");
    let made = reserve(&rome, "4");
    let (of_cluster, of_reservation) = ("#/clusters/paris", format!("#/reservations/{made}"));
    let own = [(of_cluster, "It borrows nothing."), (of_reservation.as_str(), "Locked")];
    let browser = Browser::open();
    for (width, height) in [(390, 800), (800, 900), (1280, 1000)] {
        browser.resize(width, height);
        for (page, text) in PAGES.iter().chain(&own) {
            browser.go(&format!("{}?{width}{page}", stage.address));
            browser.until_text(text);
            browser.until("document.getElementById('live').textContent === 'live'");
            for theme in ["as it is", "in the other theme"] {
                let found = browser.run(JUDGE);
                assert_eq!(found, json!([]), "{page} at {width}, {theme}");
                assert_eq!(judged_by_axe(&browser), json!([]), "{page} at {width}, {theme}");
                browser.run("document.getElementById('theme').click()");
            }
        }
    }
    let elsewhere = "return performance.getEntriesByType('resource').map((entry) => entry.name)
        .filter((name) => !name.startsWith(location.origin))";
    assert_eq!(browser.run(elsewhere), json!([]));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// A second opinion: what axe-core finds wrong with the page as it is.
fn judged_by_axe(browser: &Browser) -> Value {
    let script = Axe::script(&Places::from_environment());
    let axe = std::fs::read_to_string(&script)
        .unwrap_or_else(|error| panic!("{}: {error}: run `cargo xtask setup`", script.display()));
    let judge = "const done = arguments[arguments.length - 1];
        const told = (found) => `${found.id}: ${found.help}: ${found.nodes[0].html}`;
        axe.run(document, { resultTypes: ['violations'] })
            .then((found) => done(found.violations.map(told)), (error) => done([String(error)]));";
    browser.run(&format!("if (!window.axe) {{ {axe} }}"));
    browser.run_to_its_end(judge)
}

#[test]
fn a_keyboard_reaches_everything() {
    let stage = Stage::start();
    stage.advertise("paris", "Paris", "32");
    let browser = Browser::open();
    browser.go(&stage.address);
    browser.until_text("How much there is");
    let (tab, enter) = ("\u{e004}", "\u{e007}");
    browser.press(tab);
    assert_eq!(browser.run("return document.activeElement.className"), json!("skip"));
    browser.press(&tab.repeat(2));
    assert_eq!(browser.run("return document.activeElement.textContent"), json!("Clusters"));
    browser.press(enter);
    browser.until("document.querySelector('h1').textContent === 'Clusters'");
    // Once the page has what it shows.
    browser.until("document.activeElement.id === 'main'");
}

#[test]
fn pages_are_for_this_machine_or_for_administrators() {
    let stage = Stage::start();
    let get = |host: &str| {
        let curl = [
            "-sS",
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            "-H",
            &format!("Host: {host}"),
            &stage.address,
        ];
        let said = Command::new("curl").args(curl).stderr(Stdio::inherit()).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    };
    assert_eq!(get("localhost"), "200");
    assert_eq!(get("rebound.example"), "403");
    let post = |path: &str| {
        let address = format!("{}{path}", stage.address);
        let curl =
            ["-sS", "-o", "/dev/null", "-w", "%{http_code}", "-X", "POST", "-d", "{}", &address];
        String::from_utf8(Command::new("curl").args(curl).output().unwrap().stdout).unwrap()
    };
    assert_eq!(post("api/v1/reservations"), "403");
    assert_eq!(post("api/v1/clock/confirm"), "403");
    // Where others reach them, they ask for a certificate of an administrator.
    let exposed = Broker::start_with(&["--operations-bind-address", "0.0.0.0:0"]);
    let at =
        std::net::SocketAddr::new([127, 0, 0, 1].into(), exposed.listener("operations").port());
    assert_eq!(status(&exposed.administrator().at(at)), 200);
    assert_eq!(status(&exposed.cluster("paris").at(at)), 403);
    assert_eq!(status(&exposed.client(None).at(at)), 401);
}

/// How the page is answered, which is no part of the API.
fn status(client: &Client) -> u16 {
    let mut connection = client.connect().unwrap();
    connection.send(b"GET /overview.json HTTP/1.1\r\nHost: broker\r\n\r\n").unwrap();
    connection.answer().unwrap().status
}

#[test]
fn a_huge_fleet_is_shown_in_part() {
    let mut broker = Broker::start();
    broker.stop();
    huge::fill(&broker.ledger());
    broker.restart();
    let address = format!("http://localhost:{}/", broker.listener("operations").port());
    let browser = Browser::open();
    browser.go(&address);
    browser.until_text("10,000 clusters");
    browser.until_text("100,000 reserved");
    browser.until("document.querySelectorAll('svg.flows path').length === 40");
    browser.go(&format!("{address}#/clusters?sort=free"));
    browser.until_text("The first 200 of 10,000 that match");
    assert_eq!(browser.run("return document.querySelectorAll('tbody tr').length"), json!(200));
    browser.go(&format!("{address}#/reservations"));
    browser.until_text("The newest 200 of 100,000");
    browser.run("document.querySelector('input[name=search]').focus()");
    browser.press("c00042");
    browser.until("document.querySelectorAll('tbody tr').length < 200");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// `BLESS=1` makes the pictures of the documentation anew.
#[test]
fn the_pictures_of_the_documentation_are_of_this_page() {
    let stage = Stage::start();
    let clusters = ["athens", "berlin", "lisbon", "madrid", "milan", "oslo", "paris", "rome"];
    let clients = clusters.map(|name| stage.advertise(name, name, "32"));
    for (number, requester) in clients.iter().enumerate() {
        for cpu in 1..=3 {
            reserve(requester, &(cpu + number).to_string());
        }
    }
    let browser = Browser::open();
    for (name, page, theme, width, height) in [
        ("overview", "#/", "light", 1280, 1200),
        ("overview-dark", "#/", "dark", 1280, 1200),
        ("clusters", "#/clusters", "light", 1280, 800),
        ("overview-phone", "#/", "light", 390, 844),
    ] {
        browser.resize(width, height);
        browser.go(&stage.address);
        browser.run(&format!("localStorage.setItem('theme', '{theme}')"));
        browser.go(&format!("{}?{name}{page}", stage.address));
        browser.until_text("paris");
        browser.until("document.getElementById('live').textContent === 'live'");
        let picture = browser.picture();
        assert!(picture.len() > 10_000, "{name} is empty");
        if std::env::var_os("BLESS").is_some() {
            write(name, &picture);
        }
    }
}

fn write(name: &str, picture: &str) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/images");
    std::fs::create_dir_all(&folder).unwrap();
    let mut decode = Command::new("base64");
    let file = std::fs::File::create(folder.join(format!("dashboard-{name}.png"))).unwrap();
    let mut decode = decode.arg("-d").stdin(Stdio::piped()).stdout(file).spawn().unwrap();
    std::io::Write::write_all(&mut decode.stdin.take().unwrap(), picture.as_bytes()).unwrap();
    assert!(decode.wait().unwrap().success());
}
