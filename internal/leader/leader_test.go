package leader

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lease is a Lease in memory.
type lease struct {
	resourcelock.Interface
	identity string
	stored   *resourcelock.LeaderElectionRecord
	failure  error
	delay    time.Duration
}

func (l *lease) Identity() string { return l.identity }

func (l *lease) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return l.stored, nil, l.failure
}

func (l *lease) Create(ctx context.Context, wanted resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, wanted)
}

func (l *lease) Update(_ context.Context, wanted resourcelock.LeaderElectionRecord) error {
	time.Sleep(l.delay)
	if l.failure == nil {
		l.stored = &wanted
	}
	return l.failure
}

func held(by string) resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{HolderIdentity: by, LeaseDurationSeconds: 15}
}

func TestAReplicaHoldsTheLeaseUntilAnotherCanTakeItOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stored := t.Context(), &lease{identity: "me_1_10.0.0.1:9443", delay: 4 * time.Second}
		l := Observe(stored)
		expect := func(when string, want bool) {
			t.Helper()
			if l.Held() != want {
				t.Errorf("%s: held is %t", when, !want)
			}
		}
		expect("at the start", false)
		if err := l.Create(ctx, held(stored.identity)); err != nil {
			t.Fatal(err)
		}
		expect("after the creation", true)
		time.Sleep(10 * time.Second)
		expect("before the end of the Lease, counted from the start of the request", true)
		time.Sleep(time.Second)
		expect("at the end of the Lease, counted from the start of the request", false)
		if err := l.Update(ctx, held(stored.identity)); err != nil {
			t.Fatal(err)
		}
		expect("after a renewal", true)
		stored.failure = errors.New("no response")
		if err := l.Update(ctx, held(stored.identity)); err == nil {
			t.Error("the failure was hidden")
		}
		expect("after a renewal that failed, because the previous one still counts", true)
		if err := l.Update(ctx, held("")); err == nil {
			t.Error("the failure was hidden")
		}
		expect("after a release without a response", false)
	})
}

func TestTheAddressOfTheLeaderIsInItsIdentity(t *testing.T) {
	for _, c := range []struct{ holder, want string }{
		{"", ""},
		{"me_1_10.0.0.1:9443", ""},
		{"other_2", ""},
		{"other_2_10.0.0.2:9443", "10.0.0.2:9443"},
		{"other_2_[fd00::2]:9443", "[fd00::2]:9443"},
		{"other_2_example.com:9443", ""},
		{"other_2_10.0.0.2", ""},
		{"_", ""},
		{"other_2_127.0.0.1:9443", "127.0.0.1:9443"},
		{"other_2_10.0.0.2:0", ""},
		{"other_2_169.254.169.254:80", ""},
		{"other_2_[::ffff:169.254.169.254]:80", ""},
		{"other_2_[fe80::1%eth0]:9443", ""},
		{"other_2_[fe80::1]:9443", ""},
		{"other_2_0.0.0.0:9443", ""},
		{"other_2_[::]:9443", ""},
		{"other_2_224.0.0.1:9443", ""},
		{"other_2_255.255.255.255:9443", ""},
	} {
		stored := &lease{identity: "me_1_10.0.0.1:9443"}
		l := Observe(stored)
		record := held(c.holder)
		stored.stored = &record
		if _, _, err := l.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := ""
		if address, known := l.Other(); known {
			got = address.String()
		}
		if got != c.want {
			t.Errorf("holder %q: address %q, want %q", c.holder, got, c.want)
		}
	}
}

func TestTheConfigurationOfOtherClientsIsNotChanged(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:1", UserAgent: "operator/1"}
	before := rest.CopyConfig(config)
	l, err := New(t.Context(), config, Options{
		Namespace: "system", Address: netip.MustParseAddrPort("10.0.0.1:9443"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if config.UserAgent != before.UserAgent || config.Timeout != before.Timeout {
		t.Errorf("user agent %s, time-out %s", config.UserAgent, config.Timeout)
	}
	if l.Describe() != "system/fairlead-operator" || !strings.HasSuffix(l.Identity(), "_10.0.0.1:9443") || l.Held() {
		t.Errorf("%s held by %s: %t", l.Describe(), l.Identity(), l.Held())
	}
}

func TestIdentitiesAreUniqueAndHaveTheAddress(t *testing.T) {
	address := netip.MustParseAddrPort("[fd00::1]:9443")
	first, err := identityAt(address)
	if err != nil {
		t.Fatal(err)
	}
	second, err := identityAt(address)
	if err != nil {
		t.Fatal(err)
	}
	if first == second || !strings.HasSuffix(first, "_[fd00::1]:9443") {
		t.Errorf("identities %s and %s", first, second)
	}
	if without, err := identityAt(netip.AddrPort{}); err != nil || strings.Contains(without, ":") {
		t.Errorf("identity without an address: %s, %v", without, err)
	}
}
