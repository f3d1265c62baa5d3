package sources

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"k8s.io/apimachinery/pkg/types"
)

func TestAMailboxWakesOnlyForAnotherValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, m := newReconciler(t), NewMailbox(MailboxOptions{Expire: time.Hour})
		if err := m.Put(key("a"), "early"); err != nil {
			t.Fatal(err)
		}
		add(t, r, m)
		if r.set.Begin(t.Context(), named("a"), nil) {
			t.Error("a pass waits for a mailbox without Fetch")
		}
		if value, _, _ := m.Get(key("a")); value != "early" {
			t.Errorf("the value that came before its component is lost: %v", value)
		}
		put := func(value any) {
			t.Helper()
			if err := m.Put(key("a"), value); err != nil {
				t.Error(err)
			}
		}
		put("early")
		r.expect(t)
		put("late")
		r.expect(t, "a")
		time.Sleep(2 * time.Hour)
		r.expect(t, "a")
		if _, _, known := m.Get(key("a")); known {
			t.Error("the value did not expire")
		}
		put("again")
		m.Drop(key("a"))
		r.expect(t, "a")
		m.Drop(key("a"))
		r.expect(t)
		if err := m.Put(key("a"), make(chan int)); err == nil {
			t.Error("a value without a JSON form is accepted")
		}
		put("last")
		r.set.Forget(key("a"))
		if len(m.values) != 0 {
			t.Error("the value of a forgotten component is left")
		}
	})
}

func TestAMailboxIsFilledAtTheStartWithoutUndoingWhatCameSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, open := newReconciler(t), make(chan struct{})
		failed := false
		m := NewMailbox(MailboxOptions{Fetch: func(context.Context) (map[types.NamespacedName]any, error) {
			if !failed {
				failed = true
				return nil, errDown
			}
			<-open
			return map[types.NamespacedName]any{key("a"): "old", key("b"): "old", key("c"): "old"}, nil
		}})
		add(t, r, m)
		for _, name := range []string{"a", "b", "c"} {
			if !r.set.Begin(t.Context(), named(name), nil) {
				t.Errorf("%s does not wait", name)
			}
		}
		if err := m.Put(key("a"), "new"); err != nil {
			t.Fatal(err)
		}
		m.Drop(key("b"))
		time.Sleep(10 * time.Second)
		close(open)
		r.expect(t, "a", "b", "c")
		for name, want := range map[string]any{"a": "new", "b": nil, "c": "old"} {
			if got, _, _ := m.Get(key(name)); got != want {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	})
}

func TestEarlyValuesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, m := newReconciler(t), NewMailbox(MailboxOptions{})
		add(t, r, m)
		for i := range maxEarly + 10 {
			if err := m.Put(key("x"+strconv.Itoa(i)), i); err != nil {
				t.Fatal(err)
			}
		}
		count := func() int {
			m.mu.Lock()
			defer m.mu.Unlock()
			return len(m.values)
		}
		if n := count(); n != maxEarly {
			t.Errorf("%d values", n)
		}
		time.Sleep(earlyLifetime + time.Second)
		synctest.Wait()
		if n := count(); n != 0 {
			t.Errorf("%d values are left", n)
		}
	})
}

func TestAMailboxThatIsRemovedBeforeTheStartHasNoValues(t *testing.T) {
	var set Set
	m := NewMailbox(MailboxOptions{})
	remove, err := set.Add("mail", m, Use{})
	if err != nil {
		t.Fatal(err)
	}
	for _, moment := range []string{"before", "after"} {
		if err := m.Put(key("a"), "value"); err != nil {
			t.Fatal(err)
		}
		remove()
		if n, _ := m.Size(); n != 0 {
			t.Errorf("%d values are left of those that arrived %s the removal", n, moment)
		}
	}
}

func TestEarlyValuesOfOneNamespaceDoNotPushOutThoseOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, h := &counted{counts: map[string]int{}}, (&reconciler{}).host()
		h.Counter = c.count
		var set Set
		set.Start(t.Context(), h)
		m := NewMailbox(MailboxOptions{})
		if _, err := set.Add("mail", m, Use{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		put := func(namespace string, n, size int) {
			t.Helper()
			for i := range n {
				name := types.NamespacedName{Namespace: namespace, Name: strconv.Itoa(i)}
				if err := m.Put(name, strings.Repeat("x", size)); err != nil {
					t.Fatal(err)
				}
			}
		}
		put("quiet", 10, 1000)
		put("many", maxEarly+100, 1)
		put("large", 100, 1<<20)
		for i := range 10 {
			if _, _, known := m.Get(types.NamespacedName{Namespace: "quiet", Name: strconv.Itoa(i)}); !known {
				t.Errorf("value %d of another namespace was dropped", i)
			}
		}
		if m.early.bytes > maxEarlyBytes || len(m.early.at) > maxEarly || len(m.values) != len(m.early.at) {
			t.Errorf("%d early values with %d bytes, %d values", len(m.early.at), m.early.bytes, len(m.values))
		}
		dropped := maxEarly + 210 - len(m.values)
		if n := c.all()["inbound mail dropped"]; n != dropped {
			t.Errorf("%d dropped values are counted, want %d", n, dropped)
		}
		m.Track(t.Context(), named("a"), nil)
		time.Sleep(earlyLifetime + time.Second)
		if n := c.all()["inbound mail dropped"]; n != maxEarly+210 || m.early.bytes != 0 || len(m.early.namespaces) != 0 {
			t.Errorf("afterwards %d dropped values are counted, %d bytes are early", n, m.early.bytes)
		}
	})
}

func TestAnEarlyValueThatExpiresIsCountedAsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, h := &counted{counts: map[string]int{}}, (&reconciler{}).host()
		h.Counter = c.count
		var set Set
		set.Start(t.Context(), h)
		m := NewMailbox(MailboxOptions{Expire: time.Minute})
		if _, err := set.Add("mail", m, Use{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		m.Track(t.Context(), named("tracked"), nil)
		for _, name := range []string{"early", "tracked"} {
			if err := m.Put(key(name), name); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := c.all()["inbound mail dropped"]; n != 1 {
			t.Errorf("%d dropped values are counted, want that of the component without a pass", n)
		}
	})
}

func TestFetchedValuesWaitForTheirComponentsWithoutALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, stored := newReconciler(t), map[types.NamespacedName]any{}
		for i := range maxEarly + 1 {
			stored[key(strconv.Itoa(i))] = i
		}
		m := NewMailbox(MailboxOptions{Fetch: func(context.Context) (map[types.NamespacedName]any, error) { return stored, nil }})
		add(t, r, m)
		time.Sleep(2 * earlyLifetime)
		if values, _ := m.Size(); values != len(stored) {
			t.Errorf("%d of %d values are left", values, len(stored))
		}
	})
}

func TestAWebhookAcceptsSignedCallsOnly(t *testing.T) {
	secret := []byte("s3cret")
	var accepted []string
	options := WebhookOptions{
		Route: func(r *http.Request) (types.NamespacedName, bool) {
			name := strings.TrimPrefix(r.URL.Path, "/")
			return key(name), name != "unknown"
		},
		Secret: func(_ context.Context, name types.NamespacedName) ([]byte, error) {
			switch name.Name {
			case "secretless":
				return nil, nil
			case "unread":
				return nil, errors.New("secret of another tenant: forbidden")
			case "panics":
				panic("a bug")
			}
			return secret, nil
		},
		Accept: func(_ context.Context, name types.NamespacedName, body []byte) error {
			if string(body) == "invalid" {
				return errors.New("want JSON")
			}
			accepted = append(accepted, name.Name+" "+string(body))
			return nil
		},
		MaxBytes: 20,
	}
	window := options
	window.Window = time.Minute
	now := strconv.FormatInt(time.Now().Unix(), 10)
	for _, c := range []struct {
		name, method, path, body, signature, stamp string
		options                                    WebhookOptions
		want                                       int
		text                                       string
	}{
		{name: "signed", path: "/a", body: "x", want: 202, signature: Sign(secret, []byte("x"))},
		{name: "unsigned", path: "/a", body: "x", want: 401, text: errSignature.Error()},
		{name: "signed with another key", path: "/a", body: "x", want: 401, signature: Sign([]byte("no"), []byte("x"))},
		{name: "signature of another body", path: "/a", body: "y", want: 401, signature: Sign(secret, []byte("x"))},
		{name: "cut signature", path: "/a", body: "x", want: 401, signature: Sign(secret, []byte("x"))[:20]},
		{name: "unknown component", path: "/unknown", body: "x", want: 401, signature: Sign(secret, []byte("x")), text: errSignature.Error()},
		{name: "empty secret", path: "/secretless", body: "x", want: 401, signature: Sign(nil, []byte("x"))},
		{name: "secret that cannot be read", path: "/unread", body: "x", want: 401, signature: Sign(secret, []byte("x")), text: errSignature.Error()},
		{name: "panic", path: "/panics", body: "x", want: 401, signature: Sign(secret, []byte("x"))},
		{name: "large body", path: "/a", body: strings.Repeat("x", 21), want: 413, signature: Sign(secret, nil)},
		{name: "no POST", method: http.MethodGet, path: "/a", want: 405},
		{name: "invalid value", path: "/a", body: "invalid", want: 400, signature: Sign(secret, []byte("invalid")), text: "want JSON"},
		{name: "without a time", path: "/a", body: "x", want: 401, signature: Sign(secret, []byte("x")), options: window},
		{name: "in time", path: "/a", body: "y", stamp: now, want: 202, signature: Sign(secret, []byte(now+".y")), options: window},
		{name: "old", path: "/a", body: "y", stamp: "1000", want: 401, signature: Sign(secret, []byte("1000.y")), options: window},
	} {
		if c.options.Route == nil {
			c.options = options
		}
		if c.method == "" {
			c.method = http.MethodPost
		}
		request := httptest.NewRequestWithContext(t.Context(), c.method, c.path, bytes.NewBufferString(c.body))
		request.Header.Set(SignatureHeader, c.signature)
		request.Header.Set(TimestampHeader, c.stamp)
		recorder := httptest.NewRecorder()
		NewWebhook(c.options).ServeHTTP(recorder, request)
		if recorder.Code != c.want || c.text != "" && strings.TrimSpace(recorder.Body.String()) != c.text {
			t.Errorf("%s: %d %s, want %d %s", c.name, recorder.Code, recorder.Body, c.want, c.text)
		}
	}
	if got := strings.Join(accepted, ", "); got != "a x, a y" {
		t.Errorf("accepted: %s", got)
	}
}

// The runtime keeps stopped timers as long as they are a small part of all timers.
func TestAMailboxIsFreedAlthoughTheTimeOfItsValuesIsNotOver(t *testing.T) {
	for range 10_000 {
		timer := time.AfterFunc(time.Hour, func() {})
		defer timer.Stop()
	}
	type payload [64]byte
	newPayload := func(all *[]weak.Pointer[payload]) *payload {
		p := &payload{}
		*all = append(*all, weak.Make(p))
		return p
	}
	var inUse []weak.Pointer[payload]
	for range 10 {
		fetched := newPayload(&inUse)
		m := NewMailbox(MailboxOptions{Expire: time.Hour, Fetch: func(context.Context) (map[types.NamespacedName]any, error) {
			runtime.KeepAlive(fetched)
			return nil, nil
		}})
		for _, name := range []string{"a", "b", "a"} {
			if err := m.Put(key(name), newPayload(&inUse)); err != nil {
				t.Fatal(err)
			}
		}
		m.Drop(key("b"))
		m.discard()
	}
	runtime.GC()
	inUse = slices.DeleteFunc(inUse, func(p weak.Pointer[payload]) bool { return p.Value() == nil })
	if len(inUse) > 0 {
		t.Errorf("%d values and functions of 40 are in memory after the end of their mailboxes", len(inUse))
	}
}
