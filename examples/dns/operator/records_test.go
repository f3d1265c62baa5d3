package operator_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/examples/dns/dnstest"
	"github.com/fairlead-io/fairlead/examples/dns/operator"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/external/externaltest"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

var (
	www   = operator.RecordSpec{Name: "www.example.com", Type: "A", Value: "192.0.2.7", TTL: 300}
	token = strings.Repeat("a", 40)
)

// service starts a DNS service and returns it with its Kind.
func service(t *testing.T, o dnstest.Options) (*dnstest.Server, operator.Records) {
	t.Helper()
	server := dnstest.New(o)
	api := httptest.NewServer(server)
	t.Cleanup(api.Close)
	return server, operator.Records{URL: api.URL}
}

func secret(apiToken string) generator.References {
	return generator.References{{Kind: "Secret", Namespace: "apps", Name: "dns-api"}: {"token": []byte(apiToken)}}
}

func ref(spec operator.RecordSpec, id string) external.Ref[operator.RecordSpec] {
	return external.Ref[operator.RecordSpec]{Spec: spec, ID: id, Token: token, References: secret("secret")}
}

func TestHandlerFulfilsTheContract(t *testing.T) {
	server := dnstest.New(dnstest.Options{})
	for i := range 4 { // The record is not in the first page.
		server.Put(dnstest.Record{Name: fmt.Sprintf("%d.example.com", i), Type: "A", Value: "192.0.2.1", Tag: "other"})
	}
	api := httptest.NewServer(server)
	t.Cleanup(api.Close)
	changed, renamed := www, www
	changed.Value, renamed.Name = "192.0.2.8", "api.example.com"
	externaltest.Check(t, operator.Driver(operator.Options{ServiceURL: api.URL}), externaltest.Case{
		Spec: www, Changed: changed, Immutable: renamed,
		References: secret("secret"), WrongReferences: secret(`wrong "%+ token`),
		LoseAnswer: func() { server.Inject(dnstest.Create, dnstest.Fault{LoseAnswer: true}) },
	})
	if records := server.Records(); len(records) != 4 {
		t.Errorf("the service has %v, want the records of others", records)
	}
}

func TestRepeatedCreateWithTheSameTokenMakesOneRecord(t *testing.T) {
	server, kind := service(t, dnstest.Options{})
	server.Inject(dnstest.Create, dnstest.Fault{LoseAnswer: true})
	if _, err := kind.Create(t.Context(), ref(www, "")); err == nil {
		t.Fatal("the answer was not lost")
	}
	created, err := kind.Create(t.Context(), ref(www, ""))
	if err != nil {
		t.Fatal(err)
	}
	if count := server.Count()[token]; count != 1 || created.Observed.RecordSpec != www {
		t.Errorf("%d records, the answer is %+v; want one", count, created)
	}

	// The key was sent before, so this error must not say that there is no record.
	changed := www
	changed.Value = "192.0.2.8"
	_, err = kind.Create(t.Context(), ref(changed, ""))
	if refused := new(external.RefusedError); err == nil || errors.As(err, &refused) {
		t.Errorf("the error of another record with the same key is %v, want one that is no refusal", err)
	}
}

func TestListHasTheRecordsOfAllPages(t *testing.T) {
	server, kind := service(t, dnstest.Options{PageSize: 2})
	want := map[string]operator.Record{}
	for i := range 5 {
		spec := operator.RecordSpec{Name: fmt.Sprintf("%d.example.com", i), Type: "A", Value: "192.0.2.1"}
		id := server.Put(dnstest.Record{Name: spec.Name, Type: spec.Type, Value: spec.Value})
		want[id] = operator.Record{RecordSpec: spec, ID: id, Status: "active"}
	}
	records, err := kind.List(t.Context(), external.Account{References: secret("secret")})
	if err != nil || !reflect.DeepEqual(records, want) {
		t.Errorf("list %v, %v; want %v", records, err, want)
	}
	if calls := server.Calls(dnstest.List); calls != 3 {
		t.Errorf("%d requests for 5 records in pages of 2, want 3", calls)
	}
	server.Inject(dnstest.List, dnstest.Fault{}, dnstest.Fault{Status: http.StatusInternalServerError})
	if records, err := kind.List(t.Context(), external.Account{References: secret("secret")}); err == nil {
		t.Errorf("list %v although the second page failed, want an error", records)
	}
}

func TestListGoesOnAfterARateLimit(t *testing.T) {
	server, records := service(t, dnstest.Options{})
	for i := range 5 {
		server.Put(dnstest.Record{Name: fmt.Sprintf("%d.example.com", i), Type: "A", Value: "192.0.2.1"})
	}
	server.Inject(dnstest.List, dnstest.Fault{}, dnstest.Fault{RateLimit: time.Second}, dnstest.Fault{}, dnstest.Fault{})
	found, err := records.List(t.Context(), external.Account{References: secret("secret")})
	if err != nil || len(found) != 5 {
		t.Errorf("%d records, error %v", len(found), err)
	}
	if calls := server.Calls(dnstest.List); calls != 4 {
		t.Errorf("%d requests, want 3 pages and the refused request", calls)
	}

	server.Inject(dnstest.List, dnstest.Fault{RateLimit: time.Minute})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err = records.List(ctx, external.Account{References: secret("secret")})
	if refused, ok := errors.AsType[*external.RefusedError](err); !ok || refused.After != time.Minute {
		t.Errorf("got %v, want the refusal of the service, whose time is beyond the deadline", err)
	}
}

func TestErrorsSayWhetherTheCallHadAnEffect(t *testing.T) {
	for name, test := range map[string]struct {
		fault     dnstest.Fault
		token     string
		refused   bool
		temporary bool
		after     time.Duration
		text      string
	}{
		"limit of the rate": {
			dnstest.Fault{RateLimit: 1500 * time.Millisecond},
			"secret", true, true,
			2 * time.Second, "429",
		},
		"bad request": {
			dnstest.Fault{Status: http.StatusBadRequest},
			"secret", true, false, 0,
			`POST /records: 400 Bad Request: {"error":"out of order"}`,
		},
		"wrong token": {
			dnstest.Fault{},
			"wrong-token", true, false, 0,
			`401 Unauthorized: {"error":"the token is not valid"}`,
		},
		"no token": {
			dnstest.Fault{},
			"", true, false, 0,
			"no Secret among the references has a value for the key token",
		},
		"internal error":     {dnstest.Fault{Status: http.StatusInternalServerError}, "secret", false, false, 0, "500"},
		"error of a gateway": {dnstest.Fault{Status: http.StatusBadGateway}, "secret", false, false, 0, "502"},
		"lost answer":        {dnstest.Fault{LoseAnswer: true}, "secret", false, false, 0, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			server, kind := service(t, dnstest.Options{})
			server.Inject(dnstest.Create, test.fault)
			r := ref(www, "")
			r.References = secret(test.token)
			_, err := kind.Create(t.Context(), r)
			if err == nil || !strings.Contains(err.Error(), test.text) {
				t.Fatalf("the error is %v, want %q", err, test.text)
			}
			if test.token != "" && strings.Contains(err.Error(), test.token) {
				t.Errorf("the error shows the token: %v", err)
			}
			refused := &external.RefusedError{}
			if got := errors.As(err, &refused); got != test.refused {
				t.Errorf("refused is %t, want %t", got, test.refused)
			}
			if refused.Temporary != test.temporary || refused.After != test.after {
				t.Errorf("temporary %t after %v, want %t after %v", refused.Temporary, refused.After, test.temporary, test.after)
			}
		})
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	server, kind := service(t, dnstest.Options{})
	release := make(chan struct{})
	defer close(release)
	server.Inject(dnstest.Get, dnstest.Fault{Until: release})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := kind.Observe(ctx, ref(www, "rec-1")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v, want that of the context", err)
	}
}

func TestRecordIsReadyWhenTheNameServersKnowIt(t *testing.T) {
	now := time.Now()
	_, kind := service(t, dnstest.Options{PendingFor: time.Minute, Now: func() time.Time { return now }})
	created, err := kind.Create(t.Context(), ref(www, ""))
	if err != nil {
		t.Fatal(err)
	}
	if ready, message := kind.Ready(created.Observed); ready || message == "" || kind.PollAfter(created.Observed) == 0 {
		t.Errorf("ready %t (%q), poll after %v; want a pending record that is polled often",
			ready, message, kind.PollAfter(created.Observed))
	}
	now = now.Add(time.Minute)
	observed, err := kind.Observe(t.Context(), ref(www, created.ID))
	if err != nil {
		t.Fatal(err)
	}
	if ready, _ := kind.Ready(observed); !ready || kind.PollAfter(observed) != 0 {
		t.Errorf("ready %t, poll after %v; want a ready record that is polled seldom", ready, kind.PollAfter(observed))
	}
}

func TestNameAndTypeOfARecordCannotChange(t *testing.T) {
	changed := operator.RecordSpec{Name: "shop.example.com", Type: "AAAA", Value: "2001:db8::1", TTL: 60}
	if got := (operator.Records{}).ImmutableChanges(www, changed); !reflect.DeepEqual(got,
		[]string{"spec.name", "spec.type"}) {
		t.Errorf("immutable changes %v", got)
	}
	changed.Name, changed.Type = www.Name, www.Type
	if got := (operator.Records{}).ImmutableChanges(www, changed); got != nil {
		t.Errorf("immutable changes %v, want none", got)
	}
}
