//! A real browser, driven over the protocol of its driver.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// How often a page is looked at while something should appear on it.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// So many looks without success are a failure: half a minute, on machines where everything takes long.
const MOST_LOOKS: usize = 600;

/// Drivers that start at the same moment may choose the same port: then one of them ends.
const MOST_STARTS: usize = 5;

/// What keeps Chromium from asking for anything but the page, and lets it run as root.
const FLAGS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
];

/// One window.
pub(crate) struct Browser {
    driver: Child,
    session: String,
    network: tokio::runtime::Runtime,
    client: reqwest::Client,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub(crate) fn open() -> Self {
        let (driver, port) = (0..MOST_STARTS).find_map(|_| start_driver()).expect("a driver");
        let profile = tempfile::tempdir().unwrap();
        let network = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // Another test may have installed it already.
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let sessions = format!("http://127.0.0.1:{port}/session");
        let mut flags = FLAGS.map(str::to_owned).to_vec();
        flags.push(format!("--user-data-dir={}", profile.path().display()));
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": flags },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let mut browser =
            Self { driver, session: sessions.clone(), network, client, _profile: profile };
        let opened = browser.ask("", &wanted);
        browser.session = format!("{sessions}/{}", opened["sessionId"].as_str().unwrap());
        browser
    }

    fn ask(&self, what: &str, body: &Value) -> Value {
        self.request(self.client.post(format!("{}{what}", self.session)).body(body.to_string()))
    }

    fn request(&self, request: reqwest::RequestBuilder) -> Value {
        let answer = self.network.block_on(async {
            request.header("content-type", "application/json").send().await.unwrap().bytes().await
        });
        let mut answer: Value = serde_json::from_slice(&answer.unwrap()).unwrap();
        assert!(answer["value"]["error"].is_null(), "{answer}");
        answer["value"].take()
    }

    pub(crate) fn go(&self, address: &str) {
        self.ask("/url", &json!({ "url": address }));
    }

    pub(crate) fn resize(&self, width: u32, height: u32) {
        self.ask("/window/rect", &json!({ "width": width, "height": height }));
    }

    /// What a script of the test returns.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.ask("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// What a script of the test hands to its last argument, later.
    pub(crate) fn run_to_its_end(&self, script: &str) -> Value {
        self.ask("/execute/async", &json!({ "script": script, "args": [] }))
    }

    /// All that can be read on the page.
    pub(crate) fn text(&self) -> String {
        self.run("return document.body.innerText").as_str().unwrap().to_owned()
    }

    /// Waits until the page says so.
    pub(crate) fn until(&self, condition: &str) {
        for _ in 0..MOST_LOOKS {
            if self.run(&format!("return Boolean({condition})")) == json!(true) {
                return;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        panic!("never true: {condition}\nthe page says:\n{}", self.text());
    }

    /// Waits until a text can be read.
    pub(crate) fn until_text(&self, text: &str) {
        self.until(&format!("document.body.innerText.includes({})", json!(text)));
    }

    /// Presses keys, where the focus is.
    pub(crate) fn press(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})]
            })
            .collect();
        let source = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.ask("/actions", &json!({ "actions": [source] }));
    }

    /// What the browser complained of.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let log = self.ask("/se/log", &json!({ "type": "browser" }));
        let said = log.as_array().unwrap().iter();
        said.filter(|line| line["level"] != "INFO" && line["level"] != "DEBUG")
            .map(|line| line["message"].as_str().unwrap().to_owned())
            .collect()
    }

    /// A picture of the window, as PNG in base 64.
    pub(crate) fn picture(&self) -> String {
        let picture = self.request(self.client.get(format!("{}/screenshot", self.session)));
        picture.as_str().unwrap().to_owned()
    }
}

/// A driver, and its port, which it says in one of its first lines: `ChromeDriver was started successfully on port 1234.`
fn start_driver() -> Option<(Child, u16)> {
    let mut driver = Command::new("chromedriver");
    let mut driver =
        driver.arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    for line in lines.map_while(Result::ok) {
        if let Some((_, port)) = line.split_once("successfully on port ") {
            return Some((driver, port.trim_end_matches('.').parse().unwrap()));
        }
    }
    driver.wait().unwrap();
    None
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It takes the browser with it; both may have ended already.
        drop(self.network.block_on(self.client.delete(&self.session).send()));
        drop(self.driver.kill());
        drop(self.driver.wait());
    }
}
