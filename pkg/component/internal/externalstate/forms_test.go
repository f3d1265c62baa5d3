package externalstate

import (
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// longKey is a key whose data key is abbreviated.
func longKey() manifests.Key {
	return manifests.Key{Group: manifests.ExternalGroup, Kind: strings.Repeat("K", 63), Name: strings.Repeat("a", 253)}
}

// forms are states of each form that an operator records. The golden file testdata/forms.yaml has them, as an earlier
// version of the operator wrote them: in a crash during a move of the state "moving" from Secret 0 to Secret 1.
func forms() map[manifests.Key]*State {
	began := start.Add(time.Minute)
	with := func(number int, change func(*State)) *State {
		s := created(number)
		change(s)
		return s
	}
	return map[manifests.Key]*State{
		key("intended"): with(1, func(s *State) {
			s.ID, s.Data, s.Intent, s.Since, s.Attempts = "", nil, IntentCreate, start, 3
			s.Began, s.Window = began, 30*time.Second
		}),
		// Earlier versions recorded neither the time of the last attempt nor its window.
		key("intended-before"): with(2, func(s *State) {
			s.ID, s.Data, s.Intent, s.Since = "", nil, IntentCreate, start
		}),
		key("claimed"): with(3, func(s *State) { s.Intent, s.Since = IntentCreate, start }),
		key("created"): created(4),
		key("adopted"): {Token: created(5).Token, ID: "4711", Manifest: json.RawMessage(`{"kind":"Schema"}`)},
		key("refused"): with(6, func(s *State) { s.ID, s.Data = "", nil }),
		key("numbers"): with(7, func(s *State) { s.Manifest = json.RawMessage(`{"spec":{"n":9007199254740993}}`) }),
		key("several"): with(8, func(s *State) { s.References = append(s.References, configMapReference()) }),
		key("gone"):    {Token: created(9).Token, Gone: true},
		key("deleted"): with(10, func(s *State) {
			s.Intent, s.Since, s.Began, s.Gone = IntentDelete, start, began, true
		}),
		key("deleting"): with(11, func(s *State) {
			s.Intent, s.Since, s.Began, s.Window = IntentDelete, start, began, time.Hour
		}),
		key("deleting-v0"): with(12, func(s *State) { s.Intent, s.Since = IntentDelete, start }),
		key("moving"):      with(13, func(s *State) { s.ID = "after" }),
		longKey():          created(14),
	}
}

func configMapReference() metav1alpha1.Reference {
	return metav1alpha1.Reference{Kind: metav1alpha1.ConfigMapReference, Name: "ca"}
}

// addForms stores the Secrets of the golden file.
func (c *cluster) addForms() {
	c.t.Helper()
	text, err := os.ReadFile("testdata/forms.yaml")
	if err != nil {
		c.t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "---\n") {
		secret := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &secret.Object); err != nil {
			c.t.Fatal(err)
		}
		values, _, err := unstructured.NestedStringMap(secret.Object, "stringData")
		if err != nil {
			c.t.Fatal(err)
		}
		data := map[string]any{}
		for dataKey, value := range values {
			data[dataKey] = text64(value)
		}
		secret.Object["data"] = data
		delete(secret.Object, "stringData")
		c.Add(secret)
	}
}

func text64(value string) string { return text([]byte(value)) }

func TestStatesOfEachFormOfAnEarlierVersionAreRead(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	c.addForms()
	r := c.load(app)
	g.Expect(r.Damaged()).To(HaveLen(2))
	g.Expect(r.Damaged()[key("removed")].Cause).To(Equal(Removed))
	g.Expect(r.Damaged()[key("edited")].Cause).To(Equal(Edited))
	g.Expect(r.States()).To(HaveLen(len(forms())))
	for k, want := range forms() {
		g.Expect(r.States()).To(HaveKeyWithValue(k, *want))
	}
	g.Expect(secretCause(r)).To(BeEmpty())
}

// After a downgrade an earlier version reads what this version wrote, so the same states have the same bytes.
func TestStatesOfEachFormAreWrittenAsBefore(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	c.addForms()
	before := map[string]any{}
	for number := range 2 {
		data, _ := c.secret(app, number).DeepCopy().Object["data"].(map[string]any)
		maps.Copy(before, data)
	}
	c.write(c.load(app), forms())
	index := struct {
		Digests, Doubts, Keys map[string]string
		Moved                 map[string]int
		Writes                int
	}{}
	for number := range 2 {
		data, _ := c.secret(app, number).Object["data"].(map[string]any)
		for dataKey, value := range data {
			if dataKey != records.IndexKey && dataKey != "Schema.edited" {
				g.Expect(value).To(Equal(before[dataKey]), dataKey)
			}
		}
	}
	g.Expect(json.Unmarshal(decoded(c.secret(app, 0), records.IndexKey), &index)).To(Succeed())
	g.Expect(index.Doubts).To(Equal(map[string]string{"Schema.removed": "Removed", "Schema.edited": "Edited"}))
	g.Expect(index.Keys).To(Equal(map[string]string{dataKeyOf(longKey()): longKey().String()}))
	g.Expect(index.Moved).To(BeEmpty())
	g.Expect(index.Digests).NotTo(HaveKey("Schema.moving"))
	g.Expect(index.Writes).To(BeNumerically(">", 2))
}
