{{- define "labels" -}}
app.kubernetes.io/instance: {{ name }}
app.kubernetes.io/part-of: {{ .part }}
{{- end }}
