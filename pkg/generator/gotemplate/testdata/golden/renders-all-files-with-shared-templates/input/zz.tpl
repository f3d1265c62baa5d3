{{- $_ := set .Values "text" "changed" }}
{apiVersion: v1, kind: ConfigMap, metadata: {name: last}}
