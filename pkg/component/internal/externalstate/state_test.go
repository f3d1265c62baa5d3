package externalstate

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestStatesThatCannotBeWritten(t *testing.T) {
	for name, test := range map[string]struct {
		change func(k *manifests.Key, s *State)
		want   []string
	}{
		"without a token":   {func(_ *manifests.Key, s *State) { s.Token = "" }, []string{`token ""`}},
		"an unknown intent": {func(_ *manifests.Key, s *State) { s.Intent = "Update" }, []string{`intent "Update"`}},
		"a negative number": {func(_ *manifests.Key, s *State) { s.Attempts = -1 }, []string{"attempts is -1"}},
		"a time far away": {func(_ *manifests.Key, s *State) {
			s.Since = start.AddDate(8000, 0,
				0)
		}, []string{"the time 10026-01-01"}},
		"a manifest that is a list": {
			func(_ *manifests.Key, s *State) { s.Manifest = json.RawMessage("[]") },
			[]string{"not a JSON object"},
		},
		"a broken manifest": {
			func(_ *manifests.Key, s *State) { s.Manifest = json.RawMessage("{") },
			[]string{"not a JSON object"},
		},
		"a large id": {func(_ *manifests.Key, s *State) {
			s.ID = strings.Repeat("a",
				external.MaxID+1)
		}, []string{"the id has 1025 bytes, more than 1024"}},
		"several reasons": {func(_ *manifests.Key, s *State) {
			s.Data = make([]byte, external.MaxState+1)
			s.Manifest = json.RawMessage(`{"a":"` + strings.Repeat("a", settingtext.MaxExternal) + `"}`)
		}, []string{"the manifest has 65544 bytes, more than 65536", "the state that Create returned has 65537 bytes"}},
		"a deep manifest": {func(_ *manifests.Key, s *State) {
			s.Manifest = json.RawMessage(strings.Repeat(`{"a":`, 1100) + "1" + strings.Repeat("}", 1100))
		}, []string{"nest deeply"}},
		"many references": {func(_ *manifests.Key, s *State) {
			s.References = make([]metav1alpha1.Reference, 10_000)
		}, []string{"more than 196608 bytes"}},
		"another group":   {func(k *manifests.Key, _ *State) { k.Group = "apps" }, []string{"not the key of an external"}},
		"a namespace":     {func(k *manifests.Key, _ *State) { k.Namespace = "shop" }, []string{"no namespace"}},
		"a kind with dot": {func(k *manifests.Key, _ *State) { k.Kind = "A.b" }, []string{"a kind of letters and digits"}},
		"a bad name":      {func(k *manifests.Key, _ *State) { k.Name = "a_b" }, []string{"a DNS subdomain as name"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			k, s := key("orders"), created(1)
			test.change(&k, s)
			_, err := encode(owner("app"), k, s)
			g.Expect(err).To(HaveOccurred())
			for _, want := range test.want {
				g.Expect(err.Error()).To(ContainSubstring(want))
			}
		})
	}
}

func TestTheLargestStateFitsIntoAValue(t *testing.T) {
	s := created(1)
	s.Data, s.ID = make([]byte, external.MaxState), strings.Repeat("\x01", external.MaxID)
	s.Manifest = json.RawMessage(`{"a":"` + strings.Repeat("<", settingtext.MaxExternal-8) + `"}`)
	data, err := encode(owner("app"), key("orders"), s)
	if err != nil || len(s.Manifest) != settingtext.MaxExternal {
		t.Fatal(err)
	}
	if got, cause := decode(owner("app"), key("orders"), data); cause != "" || got.ID != s.ID {
		t.Errorf("the value cannot be decoded: %s", cause)
	}
}

func TestDataKeys(t *testing.T) {
	g := NewWithT(t)
	long := manifests.Key{Group: manifests.ExternalGroup, Kind: strings.Repeat("K", 63), Name: strings.Repeat("a", 253)}
	other := long
	other.Name = strings.Repeat("a", 252) + "b"
	g.Expect(dataKeyOf(key("orders.eu"))).To(Equal("Schema.orders.eu"))
	g.Expect(dataKeyOf(long)).To(And(HaveLen(maxDataKey), Not(Equal(dataKeyOf(other)))))
	parsed, ok := parseDataKey("Schema.orders.eu")
	g.Expect(parsed).To(Equal(key("orders.eu")))
	g.Expect(ok).To(BeTrue())
	for _, text := range []string{dataKeyOf(long), "_index", "Schema", "Schema.", ".a", "Schema.a_b"} {
		_, ok := parseDataKey(text)
		g.Expect(ok).To(BeFalse(), text)
	}
}

// Whoever may write Secrets can write values and indexes.
func FuzzValue(f *testing.F) {
	valid, err := encode(owner("app"), key("orders"), created(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(valid)
	f.Add([]byte(`{"format":2}`))
	f.Add([]byte(strings.Replace(string(valid), `"attempts"`, `"since":"9999-12-31T23:59:59-01:00","attempts"`, 1)))
	f.Add([]byte(`{"format":1,"owner":"a","secret":"b","digests":{"Schema.a":"b"},"keys":{"a":"b"}}`))
	f.Add([]byte("\x1f\x8b"))
	fuzzing.Run(f, func(t *testing.T, data []byte) {
		state, cause := decode(owner("app"), key("orders"), data)
		if cause == "" {
			again, err := encode(owner("app"), key("orders"), state)
			if err != nil {
				t.Fatalf("a state that was decoded cannot be encoded: %v", err)
			}
			if _, cause := decode(owner("app"), key("orders"), again); cause != "" {
				t.Errorf("a state that was encoded again cannot be decoded: %s", cause)
			}
		}
		i, _ := readIndex(owner("app"), "secret", map[string][]byte{"_index": data}, true)
		for dataKey := range i.Digests {
			if key, ok := i.keyOf(dataKey, data); ok && dataKeyOf(key) != dataKey {
				t.Errorf("data key %q has the key %s", dataKey, key)
			}
		}
	})
}
