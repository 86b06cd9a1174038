//! Alert rules and dashboards ask for what there is, and a Prometheus that watches a real broker can answer.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use rear_packaging::monitoring::{metrics_in, series_in};
use rear_packaging::reference::{metrics, with_table};
use serde_json::Value;

use super::generated::of_the_agent;
use super::patience::until;
use super::programs;
use super::tree::{assert_is, root, text};

const ALERTS: &str = "deploy/monitoring/rear-alerts.yaml";
const DASHBOARDS: [&str; 2] =
    ["deploy/monitoring/rear-broker-dashboard.json", "deploy/monitoring/rear-agent-dashboard.json"];

fn promtool(words: &[&str]) {
    let folder = root().join("deploy/monitoring");
    let output = Command::new("promtool").args(words).current_dir(folder).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
}

#[test]
fn every_alert_fires_when_it_should_and_stays_silent_else() {
    promtool(&["check", "rules", "rear-alerts.yaml"]);
    promtool(&["test", "rules", "rear-alerts-test.yaml"]);
    // A rule without a test could not fail here.
    let tests = text("deploy/monitoring/rear-alerts-test.yaml");
    for alert in alerts() {
        let times = tests.matches(&format!("alertname: {alert}")).count();
        assert_eq!(times, 2, "{alert} is tried when all is well, and when it is not");
    }
}

#[test]
fn every_alert_is_explained() {
    let page = text("docs/how-to/monitor.md");
    for alert in alerts() {
        assert!(page.contains(&format!("`{alert}`")), "{alert}");
    }
}

fn alerts() -> Vec<String> {
    let rules = text(ALERTS);
    let lines = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    lines.map(str::to_owned).collect()
}

/// A process that ends with its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A broker with a fleet, and where its metrics are.
fn watched() -> (Ended, String) {
    let mut command = Command::new(programs::broker());
    command.args(["dev", "--clusters", "3", "--http-port", "0"]).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = lines.map_while(Result::ok).find_map(|line| {
        let (_, rest) = line.split_once("curl -sS http://")?;
        rest.split_once("/metrics").map(|(address, _)| address.to_owned())
    });
    (Ended(child), address.expect("it says where its metrics are"))
}

fn curl(words: &[&str]) -> Option<String> {
    let output = Command::new("curl").args(["--silent", "--fail"]).args(words).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// The expressions of the panels of a dashboard.
fn expressions(dashboard: &str) -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&text(dashboard)).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().cloned().unwrap_or_default());
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn rules_and_dashboards_ask_for_metrics_that_exist() {
    let (_broker, address) = watched();
    let mut there: BTreeSet<String> =
        series_in(&curl(&[&format!("http://{address}/metrics")]).unwrap()).into_iter().collect();
    there.extend(series_in(&of_the_agent()));
    let mut asked: Vec<String> = metrics_in(&text(ALERTS));
    asked.extend(DASHBOARDS.iter().flat_map(|it| metrics_in(&expressions(it).join("\n"))));
    assert!(asked.len() > 40, "{asked:?}");
    let invented: BTreeSet<_> = asked.iter().filter(|name| !there.contains(*name)).collect();
    assert!(invented.is_empty(), "{invented:?}");
}

#[test]
fn the_reference_of_the_metrics_is_what_the_broker_shows() {
    let (_broker, address) = watched();
    let table =
        metrics::table(&curl(&[&format!("http://{address}/metrics")]).unwrap(), "rear_broker_");
    let page = text("docs/reference/metrics.md");
    let page = with_table(&page, metrics::HEADING, &table).expect("a table of metrics");
    assert_is("docs/reference/metrics.md", &page);
}

/// Prometheus, which looks at a broker every second.
fn prometheus(watched: &str) -> (Ended, tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let rules = root().join(ALERTS);
    let settings = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{}']\n\
         scrape_configs: [{{job_name: rear-broker, static_configs: [{{targets: ['{watched}']}}]}}]\n",
        rules.display()
    );
    fs::write(folder.path().join("prometheus.yml"), settings).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let log = fs::File::create(folder.path().join("log")).unwrap();
    let child = Command::new("prometheus")
        .arg("--config.file=prometheus.yml")
        .arg("--storage.tsdb.path=data")
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .current_dir(folder.path())
        .stderr(log)
        .spawn()
        .unwrap();
    (Ended(child), folder, format!("http://127.0.0.1:{port}/api/v1"))
}

fn answer(api: &str, expression: &str) -> Option<Vec<Value>> {
    let query = format!("query={expression}");
    let told = curl(&["--data-urlencode", &query, &format!("{api}/query")])?;
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["status"], "success", "{expression}: {told}");
    Some(told["data"]["result"].as_array().unwrap().clone())
}

#[test]
fn every_panel_about_the_broker_has_something_to_show() {
    let (_broker, address) = watched();
    let (_prometheus, _folder, api) = prometheus(&address);
    for expression in expressions(DASHBOARDS[0]) {
        let expression = expression.replace("$broker", ".*");
        // Nobody has asked this fleet for capacity: that panel is empty, and its question makes sense.
        let may_be_empty = expression.contains("action=\"reserve\"");
        until(&expression, || {
            answer(&api, &expression).filter(|found| may_be_empty || !found.is_empty())
        });
    }
    let rules = curl(&[&format!("{api}/rules")]).unwrap();
    let rules: Value = serde_json::from_str(&rules).unwrap();
    let groups = rules["data"]["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 2, "{rules}");
    let firing = curl(&[&format!("{api}/alerts")]).unwrap();
    let firing: Value = serde_json::from_str(&firing).unwrap();
    assert_eq!(
        firing["data"]["alerts"],
        Value::Array(Vec::new()),
        "a fleet that is well alarms nobody"
    );
}
