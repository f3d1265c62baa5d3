{{- /* The label tells whether an object is as the component renders it now. */}}
{{- define "metadata" }}
metadata:
  name: {{ .name }}
  labels: {soak: {{ .root.Values.text | quote }}}
  {{- with .order }}
  annotations: {fairlead.io/order: {{ . | quote }}}
  {{- end }}
{{- end }}
