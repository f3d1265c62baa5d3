{{- /* The label has a value of the current rendering, so a check can find outdated objects. */}}
{{- define "metadata" }}
metadata:
  name: {{ .name }}
  labels: {soak: {{ .root.Values.text | quote }}}
  {{- with .order }}
  annotations: {fairlead.io/order: {{ . | quote }}}
  {{- end }}
{{- end }}
