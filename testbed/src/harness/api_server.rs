//! A Kubernetes API server with its etcd: all that most suites need of a cluster.

use std::path::{Path, PathBuf};

use rcgen::KeyPair;

use super::certificates::Authority;
use super::etcd::{Member, Syncing, start_alone};
use super::kubectl::Kubectl;
use super::port::Port;
use super::process::Process;
use super::readiness::await_ready;
use super::site::Site;
use super::start_error::StartError;
use super::user::{Door, User};
use crate::artifacts::Artifact;

/// The group to which RBAC allows everything.
const ADMINISTRATORS: &str = "system:masters";

/// A question about readiness that takes longer is asked again.
const QUESTION: &str = "--request-timeout=5s";

/// An API server with RBAC, with ports, a folder, an etcd and a certificate authority of its own. Nothing
/// acts on the objects in it: pods stay pending, and what a deleted object owned stays. Dropping it removes it
/// and its data.
pub struct ApiServer {
    process: Process,
    etcd: Member,
    keys: Keys,
    admin: User,
    /// The program.
    kubectl: PathBuf,
    port: Port,
    /// Last, as the folder goes when the processes are gone.
    site: Site,
}

/// Whether every pod must have a service account that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServiceAccounts {
    /// As in every real cluster.
    Required,
    /// Without a controller manager nobody makes the accounts, and no pod could be created.
    Ignored,
}

impl ApiServer {
    /// Starts one and waits until all of it is ready.
    pub fn start() -> Result<Self, StartError> {
        Self::start_with(ServiceAccounts::Ignored)
    }

    pub(crate) fn start_with(service_accounts: ServiceAccounts) -> Result<Self, StartError> {
        let site = Site::open()?;
        let kubectl = site.artifact(Artifact::Kubectl)?;
        let etcd = start_alone(&site, Syncing::ToKernel)?;
        let port = Port::reserve().map_err(StartError::Port)?;
        let keys = Keys::write(&site)?;
        let admin = User::admit(&site, &keys.door(&port), "admin", Some(ADMINISTRATORS))?;
        let mut arguments = keys.arguments();
        arguments.push(format!("--etcd-servers={}", etcd.endpoint()));
        arguments.push(format!("--secure-port={}", port.number()));
        arguments.extend(fixed_arguments(service_accounts));
        let process = site.start(Artifact::KubeApiserver, "kube-apiserver", arguments)?;
        let mut server = Self { process, etcd, keys, admin, kubectl, port, site };
        server.await_ready()?;
        Ok(server)
    }

    /// Waits until `/readyz` is content with every part and the namespace `default` is there, for
    /// instance after the process was started again.
    pub fn await_ready(&mut self) -> Result<(), StartError> {
        let kubectl = self.kubectl();
        let questions = ["/readyz", "/api/v1/namespaces/default"];
        await_ready(&mut self.process, || {
            questions.iter().try_for_each(|path| {
                let asked = kubectl.run(&["get", "--raw", path, QUESTION]);
                asked.map(drop).map_err(|error| error.to_string())
            })
        })
    }

    /// Where it answers.
    #[must_use]
    pub fn url(&self) -> String {
        self.port.url("https")
    }

    /// The file with the certificate of its authority.
    #[must_use]
    pub fn authority(&self) -> &Path {
        &self.keys.authority_file
    }

    /// Who may do everything.
    #[must_use]
    pub fn admin(&self) -> &User {
        &self.admin
    }

    /// A user who may do nothing until RBAC allows it.
    pub fn user(&self, name: &str) -> Result<User, StartError> {
        User::admit(&self.site, &self.keys.door(&self.port), name, None)
    }

    /// kubectl as the administrator.
    #[must_use]
    pub fn kubectl(&self) -> Kubectl {
        self.kubectl_as(&self.admin)
    }

    /// kubectl as the user.
    #[must_use]
    pub fn kubectl_as(&self, user: &User) -> Kubectl {
        Kubectl {
            program: self.kubectl.clone(),
            kubeconfig: user.kubeconfig().to_owned(),
            cache: self.site.folder().join("kubectl-cache"),
            group: self.site.group(),
        }
    }

    /// The process of the API server, to kill, pause or start it.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// The process of its etcd, to kill, pause or start it.
    pub fn etcd(&mut self) -> &mut Process {
        &mut self.etcd.process
    }

    /// The folder with all of its data and logs, which goes when it is dropped.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.site.folder()
    }

    pub(crate) fn site(&self) -> &Site {
        &self.site
    }

    pub(crate) fn service_account_key(&self) -> &Path {
        &self.keys.service_account_key
    }
}

/// The authority that signs for users, and the files that the API server reads.
struct Keys {
    authority: Authority,
    authority_file: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
    service_account_key: PathBuf,
    service_account_public_key: PathBuf,
}

impl Keys {
    fn write(site: &Site) -> Result<Self, StartError> {
        let authority = Authority::new().map_err(StartError::Certificate)?;
        let server = authority.server().map_err(StartError::Certificate)?;
        let service_account_key = KeyPair::generate().map_err(StartError::Certificate)?;
        Ok(Self {
            authority_file: site.write("authority.crt", &authority.pem())?,
            certificate: site.write("server.crt", &server.certificate)?,
            key: site.write("server.key", &server.key)?,
            service_account_key: site
                .write("service-account.key", &service_account_key.serialize_pem())?,
            service_account_public_key: site
                .write("service-account.pub", &service_account_key.public_key_pem())?,
            authority,
        })
    }

    fn door(&self, port: &Port) -> Door<'_> {
        Door {
            url: port.url("https"),
            authority: &self.authority,
            authority_file: &self.authority_file,
        }
    }

    fn arguments(&self) -> Vec<String> {
        [
            ("client-ca-file", &self.authority_file),
            ("tls-cert-file", &self.certificate),
            ("tls-private-key-file", &self.key),
            ("service-account-key-file", &self.service_account_public_key),
            ("service-account-signing-key-file", &self.service_account_key),
        ]
        .map(|(name, file)| format!("--{name}={}", file.display()))
        .to_vec()
    }
}

fn fixed_arguments(service_accounts: ServiceAccounts) -> Vec<String> {
    let mut arguments = vec![
        "--authorization-mode=RBAC",
        "--allow-privileged",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--bind-address=127.0.0.1",
        // A machine without a network has no other address, and a Service must not point to this one.
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
    ];
    if service_accounts == ServiceAccounts::Ignored {
        arguments.push("--disable-admission-plugins=ServiceAccount");
    }
    arguments.into_iter().map(str::to_owned).collect()
}
