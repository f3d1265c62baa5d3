{{ define "lib" }}library {{ .Chart.Name }}{{ end }}
