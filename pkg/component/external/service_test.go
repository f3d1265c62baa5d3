package external_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// serve starts a server that ends with the test.
func serve(t testing.TB, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// served returns a driver that calls a service with the given driver.
func served(t *testing.T, d external.Driver) external.Driver {
	t.Helper()
	url := serve(t, external.Handler(external.HandlerOptions{}, d))
	client, err := external.Dial(t.Context(), d.Info().Kind, external.ServiceOptions{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// summary describes the result of a call, without the text of an error.
func summary(result any, err error) string {
	text := fmt.Sprintf("%+v", result)
	if answer, ok := result.(external.Answer); ok {
		encoded, failed := json.Marshal(answer)
		text = string(encoded)
		err = errors.Join(err, failed)
	}
	refused, is := errors.AsType[*external.RefusedError](err)
	switch {
	case errors.Is(err, external.ErrNotFound):
		return text + " not found"
	case errors.Is(err, external.ErrExists):
		return text + " exists"
	case is:
		return fmt.Sprintf("%s refused %t %s", text, refused.Temporary, refused.After)
	case err != nil:
		return text + " unknown"
	}
	return text
}

func TestAKindServesBothWays(t *testing.T) {
	const spec, changed = `{"host":"a","ttl":60}`, `{"host":"a","ttl":61}`
	call := func(name, id, spec, applied string) func(external.Driver) string {
		return func(d external.Driver) string {
			ctx, r := context.Background(), requestFor(id, spec, applied)
			switch name {
			case "observe":
				answer, err := d.Observe(ctx, r)
				return summary(answer, err)
			case "create":
				answer, err := d.Create(ctx, r)
				return summary(answer, err)
			case "update":
				answer, err := d.Update(ctx, r)
				return summary(answer, err)
			case "delete":
				return summary(nil, d.Delete(ctx, r))
			case "list":
				listed, err := d.List(ctx, external.Account{References: r.References}, []external.Request{
					requestFor("rec-9", spec, ""), r, requestFor("nothing", spec, ""),
				})
				return fmt.Sprint(len(listed)) + summary(listed[1], err)
			}
			id, found, err := d.Find(ctx, r)
			return summary(fmt.Sprint(id, found), err)
		}
	}
	for _, c := range []struct {
		name       string
		fail, lost error
		exists     bool
		call       func(external.Driver) string
		want       string
	}{
		{
			name: "observe", exists: true, call: call("observe", "rec-1", changed, spec),
			want: `"differs":"spec.ttl: want 61, found 60","message":"serial 1 is not published","pollAfter":60000000000}`,
		},
		{name: "observe nothing", call: call("observe", "rec-1", spec, ""), want: "not found"},
		{name: "observe a failure", fail: errors.New("no"), call: call("observe", "rec-1", spec, ""), want: "unknown"},
		{
			name: "observe a refusal", fail: external.Refused(errors.New("no")), call: call("observe", "rec-1", spec, ""),
			want: "refused false 0s",
		},
		{
			name: "observe a busy system", fail: external.RefusedFor(errors.New("no"), 90*time.Second),
			call: call("observe", "rec-1", spec, ""), want: "refused true 1m30s",
		},
		{
			name: "create", call: call("create", "", spec, ""),
			want: `{"id":"rec-1","state":"ZXRhZy0x","observed":{"host":"a","serial":1,"token":"`,
		},
		{name: "create again", exists: true, call: call("create", "", spec, ""), want: "exists"},
		{name: "create an invalid one", call: call("create", "", `{"host":"*"}`, ""), want: "refused false 0s"},
		{name: "create with an unknown field", call: call("create", "", `{"hots":"a"}`, ""), want: "refused false 0s"},
		{name: "lose an answer", lost: errors.New("lost"), call: call("create", "", spec, ""), want: "unknown"},
		{
			name: "refuse a create", fail: external.RefusedFor(errors.New("no"), 0), call: call("create", "", spec, ""),
			want: "refused true 0s",
		},
		{name: "update", exists: true, call: call("update", "rec-1", changed, spec), want: `"ready":true`},
		{name: "update nothing", call: call("update", "rec-1", changed, spec), want: "not found"},
		{
			name: "update to an invalid spec", exists: true, call: call("update", "rec-1", `{"ttl":"a"}`, spec),
			want: "refused false 0s",
		},
		{name: "delete", exists: true, call: call("delete", "rec-1", spec, spec), want: "<nil>"},
		{name: "delete nothing", call: call("delete", "rec-1", spec, spec), want: "<nil>"},
		{
			name: "fail to delete", exists: true, fail: errors.New("no"), call: call("delete", "rec-1", spec, spec),
			want: "<nil> unknown",
		},
		{name: "find", exists: true, call: call("find", "", spec, ""), want: "rec-1true"},
		{name: "find nothing", call: call("find", "", spec, ""), want: "false"},
		{name: "fail to find", fail: errors.New("no"), call: call("find", "", spec, ""), want: "unknown"},
		{name: "list", exists: true, call: call("list", "rec-1", changed, ""), want: `1{"observed":`},
		{name: "list nothing", call: call("list", "rec-1", changed, ""), want: `0{}`},
		{
			name: "fail to list", fail: external.Refused(errors.New("no")), call: call("list", "rec-1", changed, ""),
			want: "refused",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var results []string
			for _, remote := range []bool{false, true} {
				z := &zone{records: map[string]record{}}
				d := external.Of("Record", full{z}, external.Options[recordSpec]{})
				if c.exists {
					if _, err := d.Create(t.Context(), requestFor("", spec, "")); err != nil {
						t.Fatal(err)
					}
				}
				z.fail, z.lost = c.fail, c.lost
				if remote {
					d = served(t, d)
				}
				results = append(results, c.call(d))
			}
			if !strings.Contains(results[0], c.want) {
				t.Errorf("want %q, got %s", c.want, results[0])
			}
			if results[0] != results[1] {
				t.Errorf("the service gives another answer:\n%s\n%s", results[0], results[1])
			}
		})
	}
}

func TestAServiceSeesTheWholeRequest(t *testing.T) {
	var got external.Ref[recordSpec]
	d := served(t, external.Of("Record", kindFunc[recordSpec, string](
		func(_ context.Context, r external.Ref[recordSpec]) (string, error) {
			got = r
			return "a", nil
		}), external.Options[recordSpec]{}))
	r := requestFor("1", `{"host":"a"}`, "")
	r.State = []byte("state")
	r.Component.SetAnnotations(map[string]string{"a": "b", "kubectl.kubernetes.io/last-applied-configuration": "{}"})
	if _, err := d.Observe(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got.Key != r.Key || got.Spec.Host != "a" || got.ID != "1" || got.Token != r.Token || string(got.State) != "state" ||
		!reflect.DeepEqual(got.References, r.References) {
		t.Errorf("got %+v", got)
	}
	want := map[string]any{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": map[string]any{
		"namespace": "prod", "name": "shop", "uid": "u-1", "generation": int64(3), "annotations": map[string]any{"a": "b"},
	}}
	if component, ok := got.Component.(*unstructured.Unstructured); !ok || !reflect.DeepEqual(component.Object, want) {
		t.Errorf("got %v", got.Component)
	}
}

func TestTheDescriptionOfAService(t *testing.T) {
	o := external.Options[recordSpec]{
		Timeout: time.Minute, Poll: time.Hour, Settle: -1, IdempotentFor: time.Hour, Concurrency: 2, Rate: 0.5, Burst: 3,
	}
	want := external.Of("Record", full{&zone{}}, o).Info()
	if got := served(t, external.Of("Record", full{&zone{}}, o)).Info(); got != want {
		t.Errorf("want %+v, got %+v", want, got)
	}
	identified := served(t, external.Of("Record", named{&zone{}}, external.Options[recordSpec]{})).Info()
	if identified.Identifies || !identified.Finds || identified.Updates {
		t.Errorf("got %+v", identified)
	}
}

func TestExternalsWithAnIdentityBehindAService(t *testing.T) {
	z := &zone{records: map[string]record{"taken": {Token: "other"}}}
	d := served(t, external.Of("Record", named{z}, external.Options[recordSpec]{}))
	taken, own := requestFor("", `{"host":"taken"}`, ""), requestFor("", `{"host":"own"}`, "")
	if answer, err := d.Create(t.Context(), taken); !errors.Is(err, external.ErrExists) || answer.ID != "taken" {
		t.Errorf("an external of another owner was overwritten: %+v, %v", answer, err)
	}
	if id, found, err := d.Find(t.Context(), taken); found || err != nil {
		t.Errorf("an external of another owner was found: %s, %v", id, err)
	}
	if id, found, err := d.Find(t.Context(), own); found || err != nil {
		t.Errorf("found %s, %v", id, err)
	}
	if answer, err := d.Create(t.Context(), own); err != nil || answer.ID != "own" {
		t.Errorf("got %+v, %v", answer, err)
	}
	if id, found, err := d.Find(t.Context(), own); id != "own" || !found || err != nil {
		t.Errorf("found %q, %v", id, err)
	}
	z.fail = errors.New("down")
	_, err := d.Create(t.Context(), own)
	if refused, ok := errors.AsType[*external.RefusedError](err); !ok || !refused.Temporary {
		t.Errorf("nothing was created, but the result is unknown: %v", err)
	}
}

func TestCheckOfAServiceMakesNoCall(t *testing.T) {
	z := &zone{records: map[string]record{"rec-1": {}}}
	d := served(t, external.Of("Record", full{z}, external.Options[recordSpec]{}))
	r := requestFor("rec-1", `{"host":"b"}`, `{"host":"a"}`)
	if got := d.Check(r); got.Immutable != nil || got.Invalid != nil || !strings.HasPrefix(got.Account, "http://") {
		t.Errorf("before a call: %+v", got)
	}
	_, err := d.Update(t.Context(), r)
	if _, refused := errors.AsType[*external.RefusedError](err); !refused || !strings.Contains(err.Error(),
		"spec.host cannot be changed") {
		t.Errorf("got %v", err)
	}
	if got := d.Check(r); !reflect.DeepEqual(got.Immutable, []string{"spec.host"}) {
		t.Errorf("after the refusal: %+v", got)
	}
	if got := d.Check(requestFor("rec-1", `{"host":"c"}`, `{"host":"a"}`)); len(got.Immutable) != 0 {
		t.Errorf("of another spec: %+v", got)
	}
	unchangeable := served(t, external.Of("Record", named{z}, external.Options[recordSpec]{}))
	if got := unchangeable.Check(r); !reflect.DeepEqual(got.Immutable, []string{"spec.host"}) {
		t.Errorf("without an Update: %+v", got)
	}
}

// counting counts the calls of List.
type counting struct {
	full

	lists *int
}

func (c counting) List(ctx context.Context, a external.Account) (map[string]*record, error) {
	*c.lists++
	return c.full.List(ctx, a)
}

func TestAListIsSplitByAccountAndSize(t *testing.T) {
	z, lists := &zone{records: map[string]record{}}, 0
	var externals []external.Request
	for i := range 30 {
		id := fmt.Sprintf("rec-%d", i)
		z.records[id] = record{recordSpec: recordSpec{Host: "a"}, Token: strings.Repeat("t", 100)}
		externals = append(externals, requestFor(id, fmt.Sprintf(`{"host":"a","values":["%s"]}`, strings.Repeat("v", 60<<10)),
			""))
	}
	d := served(t, external.Of("Record", counting{full{z}, &lists}, external.Options[recordSpec]{
		Account: func(r external.Ref[recordSpec]) string { return fmt.Sprint(len(r.Component.GetName())) },
	}))
	answers, err := d.List(t.Context(), external.Account{References: externals[0].References}, externals)
	if err != nil || len(answers) != 30 || lists != 2 {
		t.Errorf("got %d answers with %d calls, %v", len(answers), lists, err)
	}
	if z.account.Name != "4" || string(z.account.References[credentials]["password"]) != "hunter2" {
		t.Errorf("got %+v", z.account)
	}
	if !strings.HasPrefix(answers[29].Differs, "spec.values: want 1 elements") && !strings.HasPrefix(answers[29].Differs,
		"spec.values: want a list") {
		t.Errorf("got %+v", answers[29])
	}
}

const head = `"apiVersion":"external.fairlead.io/v1","kind":"Answer"`

func TestHostileServices(t *testing.T) {
	stranger := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	text := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Location", stranger)
			w.WriteHeader(code)
			_, _ = io.Copy(w, r.Body)
		}
	}
	for name, c := range map[string]struct {
		handle  http.HandlerFunc
		want    string
		refused string
	}{
		"a huge answer": {
			text("{" + strings.Repeat(" ", 1<<20)),
			"the answer is larger than 1048576 bytes", "",
		},
		"many nodes": {
			text("[" + strings.Repeat("1,", 300_000) + "1]"),
			"the answer: line 1: more than 200000", "",
		},
		"deep nesting":    {text(strings.Repeat("[", 2000)), "the answer: line 1: ", ""},
		"no JSON":         {text("<html>"), "the answer: want a JSON document", ""},
		"an empty answer": {text(""), "the answer: want a JSON document", ""},
		"another document": {
			text(`{"apiVersion":"v1","kind":"Status"}`),
			`the answer: apiVersion and kind: want external.fairlead.io/v1 and Answer, got "v1" and "Status"`, "",
		},
		"a list":      {text(`[]`), "the answer: the document: it is of type array; want a map", ""},
		"no external": {text("{" + head + "}"), "the answer: external: the field is missing", ""},
		"an external of another type": {
			text("{" + head + `,"external":"hunter2"}`),
			"the answer: external: it is of type string; want a map", "",
		},
		"no id": {
			text("{" + head + `,"external":{"observed":{}}}`),
			"the answer: external.id: the id of the external is empty", "",
		},
		"an id of another type": {
			text("{" + head + `,"external":{"id":7}}`),
			"the answer: external.id: it is of type number; want a string", "",
		},
		"an id with a line break": {
			text("{" + head + `,"external":{"id":"a\nb"}}`),
			"external.id: the id of the external has characters that cannot be printed", "",
		},
		"a state that is no base64": {
			text("{" + head + `,"external":{"id":"a","state":"?"}}`),
			"external.state: want base64", "",
		},
		"a state that is too large": {text("{" + head + `,"external":{"id":"a","state":"` + strings.Repeat("AAAA", 22<<10) +
			`"}}`), "external.state: the state of the external has 67584 bytes", ""},
		"null as observed state": {
			text("{" + head + `,"external":{"id":"a","observed":null}}`),
			"external.observed: there is neither", "",
		},
		"a large observed state": {text("{" + head + `,"external":{"id":"a","observed":"` + strings.Repeat("a",
			256<<10) + `"}}`), "external.observed: the observed state has 262146 bytes", ""},
		"a readiness of another type": {
			text("{" + head + `,"external":{"id":"a","ready":"yes"}}`),
			"external.ready: it is of type string; want a boolean", "",
		},
		"a duration of another form": {
			text("{" + head + `,"external":{"id":"a","pollAfter":"soon"}}`),
			"external.pollAfter: want a duration such as 1m30s", "",
		},
		"findings of another type": {
			text("{" + head + `,"external":{"id":"a"},"findings":{"immutable":"a"}}`),
			"findings.immutable: it is of type string; want a list", "",
		},
		"an unknown error code": {
			text("{" + head + `,"error":{"code":"Oops"}}`),
			`an error with the code "Oops" and without a message`, "",
		},
		"not found": {
			text("{" + head + `,"error":{"code":"NotFound","message":"hunter2"}}`),
			": (redacted)", "",
		},
		"a secret in a message": {
			text("{" + head + `,"error":{"code":"Failed","message":"the password is hunter2"}}`),
			": the password is (redacted)", "",
		},
		"a long delay": {
			text("{" + head + `,"error":{"code":"TryLater","message":"a","retryAfter":"9000h"}}`),
			": a", "true 1h0m0s",
		},
		"a negative delay": {
			text("{" + head + `,"error":{"code":"TryLater","message":"a","retryAfter":"-9h"}}`),
			": a", "true 0s",
		},
		"a delay of another form": {
			text("{" + head + `,"error":{"code":"TryLater","message":"a","retryAfter":"x"}}`),
			": a", "true 0s",
		},
		"a redirect": {
			status(307), "answers 307 Temporary Redirect: redirects are not followed",
			"false 0s",
		},
		"401":           {status(401), "401 Unauthorized: renew the token", "false 0s"},
		"404":           {status(404), "404 Not Found", "false 0s"},
		"429":           {status(429), "429 Too Many Requests", "true 7s"},
		"500":           {status(500), "500 Internal Server Error", ""},
		"503":           {status(503), "503 Service Unavailable", ""},
		"204":           {status(204), "204 No Content", ""},
		"a lost answer": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF", ""},
		"a hang": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, "the service did not answer within 300ms", ""},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, c.handle)
			d, err := external.Service(external.Info{Kind: "Record", Creates: true, Timeout: 300 * time.Millisecond},
				external.ServiceOptions{URL: url + "/v1?access=hunter2"})
			if err != nil {
				t.Fatal(err)
			}
			_, err = d.Create(t.Context(), requestFor("", "{}", ""))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), url+"/v1: ") ||
				strings.Contains(err.Error(), "hunter2") || errors.Is(err, external.ErrNotFound) {
				t.Fatalf("want %q, got %v", c.want, err)
			}
			refused, is := errors.AsType[*external.RefusedError](err)
			if is != (c.refused != "") || is && fmt.Sprint(refused.Temporary, " ", refused.After) != c.refused {
				t.Errorf("want a refusal %q, got %+v", c.refused, refused)
			}
		})
	}
}

func TestServicesThatCannotBeUsed(t *testing.T) {
	answering := func(info string) string {
		return serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "{"+head+info+"}")
		}))
	}
	for want, o := range map[string]external.ServiceOptions{
		"url: want one such as":                      {},
		"needs https":                                {URL: "http://a", Token: "hunter2"},
		"ca: no certificate in PEM form found":       {URL: "https://a", CA: []byte("hunter2")},
		"connection refused":                         {URL: "http://127.0.0.1:1"},
		"the answer: info: the field is missing":     {URL: answering("")},
		"the answer: info.kind: want Record":         {URL: answering(`,"info":{"kind":"Zone"}`)},
		"the answer: info.poll: want a duration":     {URL: answering(`,"info":{"kind":"Record","poll":"often"}`)},
		"Timeout is 99h0m0s; set a time from":        {URL: answering(`,"info":{"kind":"Record","timeout":"99h"}`)},
		"info.creates: it is of type string; want a": {URL: answering(`,"info":{"kind":"Record","creates":"yes"}`)},
		"externalKind: the service handles Zone": {URL: serve(t, external.Handler(external.HandlerOptions{},
			external.Of("Zone", full{&zone{}}, external.Options[recordSpec]{})))},
		"500 Internal Server Error": {URL: serve(t, external.Handler(external.HandlerOptions{}, nil))},
	} {
		_, err := external.Dial(t.Context(), "Record", o)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if _, err := external.Service(external.Info{Kind: "record", Rate: -1}, external.ServiceOptions{}); err == nil ||
		strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("want three errors, got %v", err)
	}
}

func TestACallThatIsTooLargeIsNotSent(t *testing.T) {
	url := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the call was sent") }))
	d, err := external.Service(external.Info{Kind: "Record"}, external.ServiceOptions{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	r := requestFor("1", "{}", "")
	r.References[credentials]["large"] = make([]byte, 1<<20)
	_, err = d.Observe(t.Context(), r)
	if _, refused := errors.AsType[*external.RefusedError](err); !refused || !strings.Contains(err.Error(),
		"the limit is 1048576") {
		t.Errorf("got %v", err)
	}
}

func TestRequestsThatAHandlerRefuses(t *testing.T) {
	const call = `"apiVersion":"external.fairlead.io/v1","kind":"Call","externalKind":"Record"`
	arrived, release := make(chan struct{}), make(chan struct{})
	handler := external.Handler(external.HandlerOptions{MaxCalls: 1}, external.Of("Record", kindFunc[recordSpec, string](
		func(context.Context, external.Ref[recordSpec]) (string, error) {
			arrived <- struct{}{}
			<-release
			return "a", nil
		}), external.Options[recordSpec]{}))
	send := func(method, body string) *httptest.ResponseRecorder {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(method, "/any/path", strings.NewReader(body)))
		return recorder
	}
	for _, c := range []struct {
		method, body string
		status       int
		want         string
	}{
		{http.MethodGet, "", 405, "post a Call of external.fairlead.io/v1"},
		{http.MethodPost, strings.Repeat(" ", 1<<20+1), 413, "larger than 1048576 bytes"},
		{http.MethodPost, "a", 400, "want a JSON document"},
		{http.MethodPost, "{}", 400, "apiVersion and kind: want"},
		{
			http.MethodPost, `{` + call + `,"method":"steal","external":{}}`, 200,
			`"code":"Refused","message":"method: want info`,
		},
		{http.MethodPost, `{` + call + `,"method":"observe"}`, 200, `external: the field is missing`},
		{http.MethodPost, `{` + call + `,"method":"create","external":{}}`, 200, `the kind Record has no Create`},
		{http.MethodPost, `{` + call + `,"method":"update","external":{}}`, 200, `the kind Record has no Update`},
		{http.MethodPost, `{` + call + `,"method":"delete","external":{}}`, 200, `the kind Record has no Delete`},
		{http.MethodPost, `{` + call + `,"method":"find","external":{}}`, 200, `the kind Record has no Find`},
		{http.MethodPost, `{` + call + `,"method":"list","externals":[{}]}`, 200, `the kind Record has no List`},
	} {
		got := send(c.method, c.body)
		if got.Code != c.status || !strings.Contains(got.Body.String(), c.want) {
			t.Errorf("%s: want %d %q, got %d %s", c.body[:min(len(c.body), 90)], c.status, c.want, got.Code, got.Body)
		}
	}
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- send(http.MethodPost, `{`+call+`,"method":"observe","external":{"id":"1"}}`) }()
	<-arrived
	if got := send(http.MethodPost, `{`+call+`,"method":"info"}`); got.Code != 429 || got.Header().
		Get("Retry-After") != "1" {
		t.Errorf("above the limit: %d %v", got.Code, got.Header())
	}
	close(release)
	if got := <-first; got.Code != 200 || !strings.Contains(got.Body.String(), `"observed":"a"`) {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}
