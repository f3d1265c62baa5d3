package dnstest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-io/fairlead/examples/dns/dnstest"
)

const body = `{"name":"www.example.com","type":"A","value":"192.0.2.7","tag":"t"}`

// call sends a request and returns the status and the body of the answer.
func call(t *testing.T, server http.Handler, method, path, text, key string) (int, map[string]any) {
	t.Helper()
	request := httptest.NewRequest(method, path, strings.NewReader(text))
	request.Header.Set("Authorization", "Bearer secret")
	request.Header.Set("Idempotency-Key", key)
	recorder := httptest.NewRecorder()
	server.ServeHTTP(recorder, request)
	var decoded map[string]any
	if recorder.Body.Len() > 0 {
		if err := json.Unmarshal(recorder.Body.Bytes(), &decoded); err != nil {
			t.Fatal(err)
		}
	}
	return recorder.Code, decoded
}

func TestIdempotencyKeyIsRememberedForATime(t *testing.T) {
	now := time.Now()
	server := dnstest.New(dnstest.Options{KeyLifetime: time.Minute, Now: func() time.Time { return now }})
	_, first := call(t, server, http.MethodPost, "/records", body, "k")
	now = now.Add(59 * time.Second)
	if _, second := call(t, server, http.MethodPost, "/records", body, "k"); second["id"] != first["id"] {
		t.Errorf("the second create returns %v, want %v", second, first)
	}
	other := strings.Replace(body, "192.0.2.7", "192.0.2.8", 1)
	if code, _ := call(t, server, http.MethodPost, "/records", other, "k"); code != http.StatusUnprocessableEntity {
		t.Errorf("another record with the key is answered with %d, want 422", code)
	}
	now = now.Add(time.Second)
	if _, third := call(t, server, http.MethodPost, "/records", body, "k"); third["id"] == first["id"] {
		t.Error("the key was remembered for too long")
	}
	if count, created := server.Count()["t"], server.Created("t"); count != 2 || created != 2 {
		t.Errorf("%d records and %d creations, want a doubled record", count, created)
	}
}

func TestKeyOfARequestThatIsUnderWayIsAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := dnstest.New(dnstest.Options{})
		server.Inject(dnstest.Create, dnstest.Fault{Delay: time.Second})
		var first int
		go func() { first, _ = call(t, server, http.MethodPost, "/records", body, "k") }()
		synctest.Wait()
		if code, _ := call(t, server, http.MethodPost, "/records", body, "k"); code != http.StatusConflict {
			t.Errorf("the second request is answered with %d, want 409", code)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if first != http.StatusCreated || server.Created("t") != 1 {
			t.Errorf("the first request is answered with %d, %d creations; want a record", first, server.Created("t"))
		}
	})
}

func TestRequestsAboveTheRateAreRefused(t *testing.T) {
	now := time.Now()
	server := dnstest.New(dnstest.Options{Rate: 2, Now: func() time.Time { return now }})
	var codes []int
	for range 3 {
		code, _ := call(t, server, http.MethodGet, "/records", "", "")
		codes = append(codes, code)
	}
	now = now.Add(time.Second)
	code, _ := call(t, server, http.MethodGet, "/records", "", "")
	if codes = append(codes, code); !slices.Equal(codes, []int{200, 200, 429, 200}) {
		t.Errorf("answered with %v, want 429 for the third request in a second", codes)
	}
	if calls := server.Calls(dnstest.List); calls != 3 {
		t.Errorf("%d calls, want those that were admitted", calls)
	}
}

func TestFaultsHoldForOneCall(t *testing.T) {
	server := dnstest.New(dnstest.Options{PageSize: 10})
	id := server.Put(dnstest.Record{Name: "www.example.com", Tag: "t"})
	server.Put(dnstest.Record{Name: "api.example.com", Tag: "t"})
	server.Decide(func(c dnstest.Call) dnstest.Fault { return dnstest.Fault{Forget: c.ID == id} })
	server.Inject(dnstest.Get, dnstest.Fault{})
	for _, want := range []int{http.StatusOK, http.StatusNotFound} {
		if code, _ := call(t, server, http.MethodGet, "/records/"+id, "", ""); code != want {
			t.Errorf("answered with %d, want %d", code, want)
		}
	}
	for stale, want := range []int{2, 1, 0, 0} {
		server.Inject(dnstest.List, dnstest.Fault{Stale: stale})
		_, page := call(t, server, http.MethodGet, "/records", "", "")
		if records, _ := page["records"].([]any); len(records) != want {
			t.Errorf("the list as before %d writes has %d records, want %d", stale, len(records), want)
		}
	}
	server.Inject(dnstest.Delete, dnstest.Fault{Status: http.StatusServiceUnavailable})
	server.Decide(nil)
	if code, _ := call(t, server, http.MethodDelete, "/records/"+id, "", ""); code != http.StatusServiceUnavailable {
		t.Errorf("answered with %d, want 503", code)
	}
	if count := server.Count()["t"]; count != 2 {
		t.Errorf("%d records, want 2: a refused call has no effect", count)
	}
}

func TestLostAnswerComesAfterTheWork(t *testing.T) {
	server := dnstest.New(dnstest.Options{})
	server.Inject(dnstest.Create, dnstest.Fault{LoseAnswer: true})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the answer was sent")
			}
		}()
		call(t, server, http.MethodPost, "/records", body, "")
	}()
	if count := server.Count()["t"]; count != 1 {
		t.Errorf("%d records, want one", count)
	}
}
