package helm_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

// keysChart generates four RSA keys, and a key of another type.
const keysChart = `
{{- $ca := genCA "ca" 365 }}
{{- $signed := genSignedCert "web" nil (list "web.shop") 365 $ca }}
{{- $self := genSelfSignedCert "self" nil nil 365 }}
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData:
  ca: {{ $ca.Key | quote }}
  signed: {{ $signed.Key | quote }}
  cert: {{ $signed.Cert | quote }}
  self: {{ $self.Key | quote }}
  rsa: {{ genPrivateKey "rsa" | quote }}
{{- if .Values.more }}
  more: {{ genPrivateKey "rsa" | quote }}
{{- end }}
  ed: {{ genPrivateKey "ed25519" | quote }}
`

// A trial has other keys than all other renderings, so that a comparison finds them, and needs no time for them.
func TestATrialMakesNoKeys(t *testing.T) {
	chart := chartOf(map[string]string{"templates/keys.yaml": keysChart})
	render := func(trial bool) (map[string]any, time.Duration) {
		began := time.Now()
		objects := generate(t, chart, helm.Options{AnnotationPrefix: prefix}, generator.Request{
			Namespace: "shop", Revision: 1, Trial: trial, Parameters: map[string]any{"more": trial},
		})
		data, _ := plainOf(t, objects[0])["stringData"].(map[string]any)
		return data, time.Since(began)
	}
	first, full := render(false)
	_, _ = render(true) // The first trial of a process makes the key of trials.
	second, trial := render(true)
	for name, value := range first {
		again, _ := second[name].(string)
		head, _, _ := strings.Cut(again, "\n")
		if again == value || !strings.HasPrefix(fmt.Sprint(value), head+"\n") {
			t.Errorf("%s is %.40q in a rendering, and %.40q in a trial", name, value, again)
		}
	}
	if second["rsa"] != second["more"] {
		t.Error("a trial made two RSA keys")
	}
	t.Logf("a rendering takes %s, a trial %s", full, trial)
}

func plainOf(t *testing.T, object client.Object) map[string]any {
	t.Helper()
	u, ok := object.(interface{ UnstructuredContent() map[string]any })
	if !ok {
		t.Fatalf("got a %T", object)
	}
	return u.UnstructuredContent()
}
