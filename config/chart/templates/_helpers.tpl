{{- define "operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* The name of all objects: that of the release, with that of the chart unless it is part of it. */}}
{{- define "operator.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains (include "operator.name" .) .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "operator.name" .) | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "operator.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "operator.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "operator.serviceAccount" -}}
{{- if .Values.serviceAccount.name }}
{{- .Values.serviceAccount.name }}
{{- else if .Values.serviceAccount.create }}
{{- include "operator.fullname" . }}
{{- else }}
{{- fail "serviceAccount.create is false: name the service account in serviceAccount.name" }}
{{- end }}
{{- end }}

{{- define "operator.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- /* Whether components that name no service account act as the operator; empty where they don't. */}}
{{- define "operator.actsItself" -}}
{{- if or .Values.clusterAdmin (eq .Values.components.actAs "operator") }}true{{ end }}
{{- end }}

{{- /* Whether the operator enforces quotas of namespaces; empty where it doesn't. */}}
{{- define "operator.quotas" -}}
{{- if or .Values.quotas.enabled .Values.quotas.dependents .Values.quotas.sourceBytes }}true{{ end }}
{{- end }}

{{- /* A role with rules, and the binding of the operator to it: for the whole cluster, for a namespace where one is given, or for several (boundIn). */}}
{{- define "operator.role" -}}
{{- $scope := ternary "" "Cluster" (hasKey . "namespace") }}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $scope }}Role
metadata:
  name: {{ include "operator.fullname" .root }}-{{ .name }}
  {{- with .namespace }}
  namespace: {{ . | quote }}
  {{- end }}
  labels:
    {{- include "operator.labels" .root | nindent 4 }}
{{- if .rules }}
rules:
{{ toYaml .rules }}
{{- else }}
aggregationRule:
{{ toYaml .aggregationRule | indent 2 }}
{{- end }}
{{- $role := printf "%s-%s" (include "operator.fullname" .root) .name }}
{{- range .boundIn }}
---
{{ include "operator.binding" (dict "root" $.root "name" $.name "role" $role "kind" "ClusterRole" "namespace" .) }}
{{- else }}
---
{{ include "operator.binding" (merge (dict "role" $role) .) }}
{{- end }}
{{- end }}

{{- /* The namespaces that the operator has its rights in, as JSON; none where these are those of the whole cluster. */}}
{{- define "operator.boundIn" -}}
{{- ternary .Values.observeNamespaces list (eq .Values.observe "namespaces") | toJson }}
{{- end }}

{{- /* The rules of the role for components that are about events, as JSON: the operator needs them only in the namespaces that it watches. */}}
{{- define "operator.eventRules" -}}
{{- $rules := list }}
{{- range (.Files.Get "files/rbac.yaml" | fromYaml).components.rules }}
{{- if has "events" .resources }}
{{- $rules = append $rules . }}
{{- end }}
{{- end }}
{{- $rules | toJson }}
{{- end }}

{{- /* The namespaces that the operator keeps records in, as JSON: those where components can act, and are watched; none for all namespaces. */}}
{{- define "operator.recordsIn" -}}
{{- $watched := include "operator.boundIn" . | fromJsonArray }}
{{- $names := list }}
{{- if not (include "operator.actsItself" .) }}
{{- range .Values.components.namespaces }}
{{- if or (empty $watched) (has . $watched) }}
{{- $names = append $names . }}
{{- end }}
{{- end }}
{{- end }}
{{- $names | default $watched | toJson }}
{{- end }}

{{- /* The binding of the operator to a role. */}}
{{- define "operator.binding" -}}
{{- $scope := ternary "" "Cluster" (hasKey . "namespace") -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $scope }}RoleBinding
metadata:
  name: {{ include "operator.fullname" .root }}-{{ .name }}
  {{- with .namespace }}
  namespace: {{ . | quote }}
  {{- end }}
  labels:
    {{- include "operator.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind | default (printf "%sRole" $scope) }}
  name: {{ .role | quote }}
subjects:
- kind: ServiceAccount
  name: {{ include "operator.serviceAccount" .root | quote }}
  namespace: {{ .root.Release.Namespace | quote }}
{{- end }}
