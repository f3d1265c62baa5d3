{{ define "shared" }}deep{{ end }}{{ $_ := set . "leaked" "yes" }}
