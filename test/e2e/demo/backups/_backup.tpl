{{- define "backup" }}
apiVersion: ops.example.com/v1
kind: Backup
metadata:
  name: {{ .volume }}-{{ .name }}
spec:
  volume: {{ .volume }}
  schedule: {{ .schedule | quote }}
  keep: {{ .keep }}
{{- end }}
