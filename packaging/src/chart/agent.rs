//! The chart of the agent.

use super::{Change, Chart, Template};

const NAMESPACE: Change = ("namespace: rear-agent", "namespace: {{ .Release.Namespace }}");

/// Everything of `deploy/agent`.
pub const AGENT: Chart = Chart {
    folder: "deploy/charts/rear-agent",
    templates: &[
        Template {
            manifest: "deploy/agent/rbac.yaml",
            name: "rbac.yaml",
            only_if: None,
            changes: &[NAMESPACE],
        },
        Template {
            manifest: "deploy/agent/deployment.yaml",
            name: "deployment.yaml",
            only_if: None,
            changes: &[
                NAMESPACE,
                ("replicas: 1", "replicas: {{ .Values.replicas }}"),
                (
                    "serviceAccountName: rear-agent",
                    "serviceAccountName: rear-agent\n{{- with .Values.imagePullSecrets }}\nimagePullSecrets: {{ toJson . }}\n{{- end }}\n\
                     {{- with .Values.nodeSelector }}\nnodeSelector: {{ toJson . }}\n{{- end }}\n\
                     {{- with .Values.tolerations }}\ntolerations: {{ toJson . }}\n{{- end }}",
                ),
                (
                    "image: rear-agent:0.1.0",
                    "image: \"{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}\"\n\
                     imagePullPolicy: {{ .Values.image.pullPolicy }}",
                ),
                (
                    "- --broker-url=https://broker.example.com:8443",
                    "- --broker-url={{ required \"brokerURL: the address of your broker\" .Values.brokerURL }}",
                ),
                (
                    "- --advertisement-namespace=rear-agent",
                    "- --advertisement-namespace={{ .Release.Namespace }}",
                ),
                (
                    "- --leader-elect",
                    "- --leader-elect\n{{- if .Values.liqo.kubeconfigSecrets }}\n- --liqo-kubeconfig-secrets\n\
                     - --liqo-local-kubeconfig=/etc/agent/liqo/kubeconfig\n{{- end }}\n\
                     {{- range .Values.extraArgs }}\n- {{ . | quote }}\n{{- end }}",
                ),
                ("cpu: 10m", "cpu: {{ .Values.resources.requests.cpu }}"),
                ("memory: 32Mi", "memory: {{ .Values.resources.requests.memory }}"),
                ("memory: 128Mi", "memory: {{ .Values.resources.limits.memory }}"),
                (
                    "# Where copies of kubeconfigs are while a peering is made.",
                    "{{- if .Values.liqo.kubeconfigSecrets }}\n- name: liqo\n  mountPath: /etc/agent/liqo\n  readOnly: true\n{{- end }}\n\
                     # Where copies of kubeconfigs are while a peering is made.",
                ),
                (
                    "volumes:",
                    "volumes:\n{{- if .Values.liqo.kubeconfigSecrets }}\n  - name: liqo\n    secret:\n      \
                     secretName: {{ required \"liqo.localKubeconfigSecret: the Secret with this cluster's own kubeconfig\" .Values.liqo.localKubeconfigSecret }}\n{{- end }}",
                ),
                ("secretName: agent-client-tls", "secretName: {{ .Values.certificateSecret }}"),
            ],
        },
        Template {
            manifest: "deploy/agent/liqo/rbac.yaml",
            name: "liqo-rbac.yaml",
            only_if: Some(".Values.liqo.kubeconfigSecrets"),
            changes: &[NAMESPACE],
        },
        Template {
            manifest: "deploy/agent/certmanager/certificate.yaml",
            name: "certificate.yaml",
            only_if: Some(".Values.certManager.enabled"),
            changes: &[
                NAMESPACE,
                ("secretName: agent-client-tls", "secretName: {{ .Values.certificateSecret }}"),
                (
                    "commonName: cluster-1",
                    "commonName: {{ required \"certManager.clusterID: the id of this cluster\" .Values.certManager.clusterID }}",
                ),
                ("name: liqo-broker-ca-issuer", "name: {{ .Values.certManager.issuer.name }}"),
                ("kind: ClusterIssuer", "kind: {{ .Values.certManager.issuer.kind }}"),
            ],
        },
        Template {
            manifest: "deploy/agent/monitoring/service.yaml",
            name: "metrics-service.yaml",
            only_if: Some(".Values.monitoring.enabled"),
            changes: &[NAMESPACE],
        },
        Template {
            manifest: "deploy/agent/monitoring/service-monitor.yaml",
            name: "service-monitor.yaml",
            only_if: Some(".Values.monitoring.enabled"),
            changes: &[NAMESPACE, ("interval: 30s", "interval: {{ .Values.monitoring.interval }}")],
        },
    ],
    definitions: &[("deploy/agent/crds/rear.fluidos.eu.yaml", "rear.fluidos.eu.yaml")],
};
