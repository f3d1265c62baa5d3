package external

import (
	"encoding/json"
	"strings"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// The answer comes from a service of a tenant, the call from any client.
func FuzzDocuments(f *testing.F) {
	const head = `"apiVersion":"external.fairlead.io/v1","kind":"Answer"`
	for _, seed := range []string{
		`{` + head + `,"external":{"id":"a","state":"AAAA","observed":{"a":1e9},"token":"t","differs":"d","ready":true,` +
			`"pollAfter":"1m"},"found":true}`,
		`{` + head + `,"externals":[{"id":"1","observed":[]},{"id":"2"}]}`,
		`{` + head + `,"error":{"code":"TryLater","message":"hunter2","retryAfter":"1s"},` +
			`"findings":{"immutable":["spec.a"]}}`,
		`{` + head + `,"info":{"kind":"Record","timeout":"1s","rate":1e300,"burst":3}}`,
		`{"apiVersion":"external.fairlead.io/v1","kind":"Call","externalKind":"A","method":"find","external":{"name":"a",` +
			`"component":{"metadata":{"labels":{"a":"b"}}},"spec":{}},"references":[{"kind":"Secret","data":{"a":"YQ=="}}]}`,
	} {
		f.Add([]byte(seed))
	}
	driver, err := Service(Info{Kind: "Record"}, ServiceOptions{URL: "http://a"})
	s, ok := driver.(*service)
	if err != nil || !ok {
		f.Fatal(err)
	}
	references := generator.References{{Kind: metav1alpha1.SecretReference}: {"password": []byte("hunter2")}}
	fuzzing.Run(f, func(t *testing.T, text []byte) {
		var call callDocument
		if decodeDocument(text, &call) == nil && call.External != nil {
			_ = externalDocumentOf(call.External.request("A", referencesOf(call.References)))
		}
		document, err := s.read(text, callFor(references))
		if err != nil {
			if strings.Contains(err.Error(), "hunter2") || len(err.Error()) > 4<<10 {
				t.Errorf("got %v", err)
			}
			return
		}
		states := []*stateDocument{document.External}
		for i := range document.Externals {
			states = append(states, &document.Externals[i])
		}
		for _, state := range states {
			checkAnswer(t, s, state, methodCreate, references)
			checkAnswer(t, s, state, methodObserve, references)
		}
		if id, found, err := s.foundIn(document); found != (id != "") || found && err != nil {
			t.Errorf("found %q %t, %v", id, found, err)
		}
		if document.Info != nil {
			_, _ = document.Info.info()
		}
	})
}

func callFor(references generator.References) call {
	return call{means: ErrNotFound, references: references}
}

func checkAnswer(t *testing.T, s *service, state *stateDocument, m method, references generator.References) {
	t.Helper()
	a, err := s.answerOf(state, m, references)
	if err != nil {
		return
	}
	if strings.Contains(a.Differs+a.Message, "hunter2") || len(a.Differs) > maxText || len(a.Message) > maxText ||
		len(a.ID) > MaxID || len(a.State) > MaxState || len(a.Observed) > MaxObserved || a.PollAfter < 0 {
		t.Errorf("got %+v", a)
	}
	if m == methodCreate && a.ID == "" || m != methodCreate && !json.Valid(a.Observed) {
		t.Errorf("got %+v without an error", a)
	}
}
