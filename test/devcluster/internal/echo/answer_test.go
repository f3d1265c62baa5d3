package echo

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/test/devcluster/internal/pki"
)

func TestAnswer(t *testing.T) {
	cases := map[string]struct {
		method, path, body string
		code               int
		want               string
	}{
		"admits a review": {
			http.MethodPost, "/validate", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"a"}}`,
			200, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":true,"uid":"a"}}`,
		},
		"converts objects": {
			http.MethodPost, "/convert",
			`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview",` +
				`"request":{"uid":"a","desiredAPIVersion":"x.io/v2","objects":[{"apiVersion":"x.io/v1","kind":"X"}]}}`,
			200, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":` +
				`{"convertedObjects":[{"apiVersion":"x.io/v2","kind":"X"}],"result":{"status":"Success"},"uid":"a"}}`,
		},
		"serves an API without types": {
			http.MethodGet, "/apis/x.io/v1", "", 200,
			`{"apiVersion":"v1","groupVersion":"x.io/v1","kind":"APIResourceList","resources":[]}`,
		},
		"knows no other path":     {http.MethodGet, "/apis", "", 404, ""},
		"knows no other request":  {http.MethodPost, "/", `{"kind":"Pod"}`, 404, ""},
		"refuses what is no JSON": {http.MethodPost, "/", "x", 400, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			recorder := httptest.NewRecorder()
			answer(recorder, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
			if recorder.Code != c.code {
				t.Errorf("want %d, got %d", c.code, recorder.Code)
			}
			if c.want == "" {
				return
			}
			var got any
			if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if text, err := json.Marshal(got); err != nil || string(text) != c.want {
				t.Errorf("want %s, got %s, %v", c.want, text, err)
			}
		})
	}
}

func TestCertificateOfASecret(t *testing.T) {
	authority, err := pki.NewAuthority("authority")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Server("harbour", "harbour.default.svc")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{
		"ca.crt": authority.Certificate, "server.crt": pair.Certificate, "server.key": pair.Key,
		"other": []byte("x"),
	}
	if certificateOf(files, "harbour.default.svc") == nil {
		t.Error("the certificate is not found")
	}
	if certificateOf(files, "quay.default.svc") != nil {
		t.Error("the certificate is that of another name")
	}
	delete(files, "server.key")
	if certificateOf(files, "harbour.default.svc") != nil {
		t.Error("a certificate without its key is none")
	}
}
