{{- /* The operator listens on each port once. */}}
{{- define "operator.checkPorts" -}}
{{- $metrics := ternary (int .Values.metrics.port) 0 .Values.metrics.enabled }}
{{- $webhook := ternary (int .Values.webhook.port) 0 .Values.webhook.enabled }}
{{- if eq $metrics 8081 }}
{{- fail "metrics.port is 8081, the port of the probes: choose another port" }}
{{- else if eq $webhook 8081 }}
{{- fail "webhook.port is 8081, the port of the probes: choose another port" }}
{{- else if and $webhook (eq $metrics $webhook) }}
{{- fail (printf "metrics.port and webhook.port are both %d: choose another port for one of them" $webhook) }}
{{- end }}
{{- end }}

{{- /* The flags of the operator. */}}
{{- define "operator.args" -}}
{{- include "operator.checkPorts" . }}
- --leader-elect
- --leader-election-namespace={{ .Release.Namespace }}
- --own-deployment={{ .Release.Namespace }}/{{ include "operator.fullname" . }}
- --health-probe-bind-address=:8081
{{- if .Values.metrics.enabled }}
- --metrics-bind-address=:{{ .Values.metrics.port }}
- --metrics-secure={{ .Values.metrics.secure }}
{{- if .Values.metrics.certificateSecret }}
- --metrics-cert-path=/etc/fairlead/metrics
{{- end }}
- --component-metrics={{ .Values.metrics.perComponent }}
{{- else }}
- --metrics-bind-address=0
{{- end }}
{{- with .Values.poll.hosts }}
- --poll-hosts={{ join "," . }}
{{- end }}
{{- if .Values.webhook.enabled }}
- --webhook-bind-address=:{{ .Values.webhook.port }}
- --webhook-advertise-ip=$(FAIRLEAD_POD_IP)
{{- end }}
{{- if not (include "operator.actsItself" .) }}
- --default-service-account={{ .Values.components.serviceAccount }}
{{- end }}
- --observe={{ .Values.observe }}
{{- if eq .Values.observe "namespaces" }}
- --observe-namespaces={{ join "," .Values.observeNamespaces }}
{{- end }}
- --max-concurrent-reconciles={{ .Values.concurrency.reconciles }}
- --max-concurrent-writes={{ .Values.concurrency.writes }}
- --max-rendered-bytes={{ .Values.maxRenderedBytes | int64 }}
{{- if include "operator.quotas" . }}
- --namespace-quotas
- --max-dependents-per-namespace={{ .Values.quotas.dependents | int64 }}
- --max-source-bytes={{ .Values.quotas.sourceBytes | int64 }}
{{- end }}
- --fetch-timeout={{ .Values.fetch.timeout }}
- --fetch-max-bytes={{ .Values.fetch.maxBytes | int64 }}
{{- range .Values.addresses.allow }}
- {{ printf "--allow-address=%s" . | quote }}
{{- end }}
{{- range .Values.addresses.deny }}
- {{ printf "--deny-address=%s" . | quote }}
{{- end }}
{{- with .Values.events.address }}
- --events-address={{ . }}
{{- end }}
{{- with .Values.tracing.endpoint }}
- --tracing-endpoint={{ . }}
- --tracing-sampling-ratio={{ $.Values.tracing.samplingRatio }}
{{- end }}
- --zap-log-level={{ .Values.logging.level }}
- --zap-encoder={{ .Values.logging.encoder }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Where pods run. */}}
{{- define "operator.scheduling" -}}
{{- with .Values.topologySpreadConstraints }}
topologySpreadConstraints:
{{- range . }}
{{- $selector := dict "matchLabels" (include "operator.selectorLabels" $ | fromYaml) }}
- {{ set (deepCopy .) "labelSelector" (.labelSelector | default $selector) | toYaml | nindent 2 | trim }}
{{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
{{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
{{ toYaml . }}
{{- end }}
{{- with .Values.affinity }}
affinity:
{{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- end }}
