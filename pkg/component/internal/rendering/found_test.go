package rendering

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/determinism"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// digestOf returns the digest of the ConfigMap a of a set.
func digestOf(set Set) string {
	for _, o := range set.Objects {
		if o.Key.Name == "a" {
			return o.Digest
		}
	}
	return ""
}

// live stores the ConfigMap a with a value, as an object of the component. digest is the digest of the applied
// manifest.
func (s *scene) live(digest, value string) {
	s.Put("v1", "ConfigMap", "shop", "a", map[string]any{
		"metadata": map[string]any{"namespace": "shop", "name": "a", "annotations": map[string]any{
			reconciler + "/" + manifests.AnnotationOwnerID: owner.String(),
			reconciler + "/" + marks.AnnotationObject:      "ConfigMap shop/a",
			reconciler + "/" + marks.AnnotationDigest:      digest,
		}},
		"data": map[string]any{"value": value},
	})
}

// plant writes a record of a tenant, whose id proves it, with another value and another field of the ConfigMap a, and
// another object. It is later than the genuine record.
func (s *scene) plant(value any) (id string) {
	s.t.Helper()
	s.clock.SetTime(s.clock.Now().Add(time.Hour))
	var bodies []*unstructured.Unstructured
	for _, name := range []string{"a", "planted"} {
		body := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name},
			"data": map[string]any{"value": value, "other": "planted"},
		}}
		bodies = append(bodies, body)
	}
	parts, err := records.Encode(records.Rendering, bodies)
	if err != nil {
		s.t.Fatal(err)
	}
	rec := records.Record{Kind: records.Rendering, Origin: records.OriginOf(&s.component.status)}
	header := records.Header{Inputs: s.component.status.InputDigest}
	if rec.ID, rec.Proof, err = records.NewProof(records.UsePinned, header, parts); err != nil {
		s.t.Fatal(err)
	}
	if err := s.store.Write(s.t.Context(), owner, rec, parts); err != nil {
		s.t.Fatal(err)
	}
	return rec.ID
}

// forget deletes the Secrets of the record with an id.
func (s *scene) forget(id string) {
	for name := range s.secrets.Secrets {
		if records.IDOf(name.Name) == id {
			delete(s.secrets.Secrets, name)
		}
	}
}

// dataOf returns the data of the ConfigMap a of a set.
func (s *scene) dataOf(set Set) map[string]any {
	s.t.Helper()
	for _, o := range set.Objects {
		if o.Key.Name == "a" {
			whole, err := o.Whole()
			if err != nil {
				s.t.Fatal(err)
			}
			data, _ := whole.Body.Object["data"].(map[string]any)
			return data
		}
	}
	return nil
}

func TestWhatIsUsedOfAFoundRecord(t *testing.T) {
	const applied = "applied"
	const beside, instead = "beside", "instead"
	for _, c := range []struct {
		name string
		// digest is the digest annotation of the live object, "applied" for that of the applied manifest; there is no live
		// object if it is empty.
		digest, live string
		// planted says whether there is a planted record beside the genuine one, or instead of it, and plants is its value.
		planted     string
		plants      any
		want, tells string
	}{
		{"an object that drifted gets its value again", applied, "drifted", "", "", "random-1", "are kept: ConfigMap a"},
		{"an object that did not drift keeps its value", applied, "random-1", "", "", "random-1", "are kept: ConfigMap a"},
		{"an object of another manifest keeps its value", "1234", "other", "", "", "other", "are kept: ConfigMap a"},
		{"an object that does not exist keeps its value", "", "", "", "", "random-1", "values of the record: ConfigMap a"},
		{
			"a planted record changes no live object", applied, "random-1", instead, "planted",
			"random-1", "are kept: ConfigMap a",
		},
		{
			"a planted record hides no genuine one of a live object", applied, "drifted", beside, "planted",
			"random-1", "are kept: ConfigMap a",
		},
		{
			"a planted record hides no genuine one of an object that does not exist", "", "", beside, "planted",
			"random-1", "values of the record: ConfigMap a",
		},
		{
			"without a genuine one, a planted record chooses the value of an object that does not exist", "", "", instead,
			"planted", "planted", "values of the record: ConfigMap a",
		},
		{"a planted record removes no value", "", "", instead, nil, "random-3", "get new values: ConfigMap a"},
		{"a planted record adds no map", "", "", instead, map[string]any{}, "random-3", "get new values: ConfigMap a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t)
			s.random()
			s.apply()
			set, _, err := s.render()
			if err != nil {
				t.Fatal(err)
			}
			found := set.ID
			if c.planted != "" {
				found = s.plant(c.plants)
			}
			if c.planted == instead {
				s.forget(set.ID)
			}
			if c.digest == applied {
				c.digest = digestOf(set)
			}
			if c.digest != "" {
				s.live(c.digest, c.live)
			}
			s.component.status = metav1alpha1.Status{
				InputDigest: s.request.Inputs.Digest, Revision: 1, RenderedSet: records.Found(found),
			}
			s.restart()
			after, calls, err := s.render()
			if err != nil || s.valueOf(after) != c.want || !strings.Contains(after.Lost, c.tells) {
				t.Errorf("the value is %q, want %q; Lost is %q; error %v", s.valueOf(after), c.want, after.Lost, err)
			}
			if calls == 0 || len(after.Objects) != len(set.Objects) || after.ValuesLost || len(s.dataOf(after)) != 1 {
				t.Errorf("the generator was called %d times, and the set has %d objects, want %d; the data is %v",
					calls, len(after.Objects), len(set.Objects), s.dataOf(after))
			}
			if !records.IsProven(after.ID) || after.ID == found {
				t.Errorf("the rendering has the id %q", after.ID)
			}
		})
	}
}

func TestAnObjectOfSomebodyElseGetsNoValueOfAFoundRecord(t *testing.T) {
	s := newScene(t)
	s.random()
	s.apply()
	s.component.status.RenderedSet = records.Found(s.component.status.RenderedSet)
	other := owner
	other.Name = "other"
	s.restored(other, map[string]any{"value": "theirs"})
	s.restart()
	set, _, err := s.render()
	if err != nil || s.valueOf(set) != "random-3" || !strings.Contains(set.Lost, "get new values: ConfigMap a") {
		t.Errorf("the value is %q; Lost is %q; error %v", s.valueOf(set), set.Lost, err)
	}
}

// Whoever forges a status or a record chooses what the status says about the inputs and about the kind of the record.
func TestLiveObjectsKeepTheirValuesIfNoRecordOfTheInputsIsFound(t *testing.T) {
	const kept = "k0123456789abcdef0123456789abcdef01234567"
	const want = "no record of the generated values was found; values of existing objects that are kept: ConfigMap a"
	for name, edit := range map[string]func(s *metav1alpha1.Status){
		"the status names other inputs":     func(s *metav1alpha1.Status) { s.InputDigest = "others" },
		"the status names no inputs":        func(s *metav1alpha1.Status) { s.InputDigest = "" },
		"the status names a kept rendering": func(s *metav1alpha1.Status) { s.RenderedSet = records.Found(kept) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.random()
			s.apply()
			s.live("1234", "live")
			s.forget(s.component.status.RenderedSet)
			s.component.status.RenderedSet = records.Found(s.component.status.RenderedSet)
			edit(&s.component.status)
			s.restart()
			set, _, err := s.render()
			if err != nil || s.valueOf(set) != "live" || !records.IsProven(set.ID) ||
				!strings.Contains(set.Lost, want) {
				t.Errorf("the value is %q in %q; Lost is %q; error %v", s.valueOf(set), set.ID, set.Lost, err)
			}
		})
	}
}

func TestValuesThatALiveObjectLacksAreThoseOfTheRecord(t *testing.T) {
	for name, put := range map[string]func(s *scene){
		"because somebody removed the field": func(s *scene) { s.restored(owner, nil) },
		"because somebody removed its marks": func(s *scene) {
			s.Put("v1", "ConfigMap", "shop", "a", map[string]any{"data": map[string]any{"value": "edited"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.random()
			s.apply()
			put(s)
			s.component.status.RenderedSet = records.Found(s.component.status.RenderedSet)
			s.restart()
			set, _, err := s.render()
			if err != nil || s.valueOf(set) != "random-1" || !strings.Contains(set.Lost, "values of the record: ConfigMap a") {
				t.Errorf("the value is %q; Lost is %q; error %v", s.valueOf(set), set.Lost, err)
			}
		})
	}
}

// A digest annotation says nothing about a manifest that the record has beside the applied one.
func TestAFoundRecordWithTwoManifestsOfALiveObjectChangesNothing(t *testing.T) {
	s := newScene(t)
	r := New(s.options)
	body := func(value string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"},
			"data": map[string]any{"value": value},
		}}
	}
	applied := r.digestsOf(s.request, []*unstructured.Unstructured{body("applied")})
	key := manifests.Key{Kind: "ConfigMap", Name: "a"}
	if len(applied[key]) != 1 {
		t.Fatalf("the digests are %v", applied)
	}
	s.live(applied[key][0], "live")
	rendered := []*unstructured.Unstructured{body("rendered")}
	v := variable{rendered, []determinism.Field{{Object: key, Path: []any{"data", "value"}}}}
	for want, found := range map[string][]*unstructured.Unstructured{
		"applied": {body("applied")}, "live": {body("applied"), body("planted")},
	} {
		filled, _, err := r.foundValues(t.Context(), s.request, v, found)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := unstructured.NestedString(filled[0].Object, "data", "value"); got != want {
			t.Errorf("the value is %q, want %q", got, want)
		}
	}
}

func TestAFoundRecordOfTheseInputsIsUsedWhicheverOneTheStatusNames(t *testing.T) {
	s := newScene(t)
	s.random()
	s.apply()
	inputs := s.component.status.InputDigest
	s.component.status.InputDigest = "others"
	planted := s.plant("planted")
	s.component.status.RenderedSet = records.Found(planted)
	s.restart()
	set, _, err := s.render()
	if err != nil || s.valueOf(set) != "random-1" {
		t.Errorf("the value is %q; error %v", s.valueOf(set), err)
	}

	s.request.Inputs.Digest = "new"
	s.restart()
	if set, _, err := s.render(); err != nil || s.valueOf(set) == "random-1" || s.valueOf(set) == "planted" {
		t.Errorf("after the inputs %q changed, the value is %q; error %v", inputs, s.valueOf(set), err)
	}
}

func TestADamagedRecordHidesNoOther(t *testing.T) {
	s := newScene(t)
	s.random()
	s.apply()
	genuine := s.component.status.RenderedSet
	damaged := s.plant("planted")
	for name, secret := range s.secrets.Secrets {
		if records.IDOf(name.Name) == damaged {
			annotations := secret.GetAnnotations()
			annotations[reconciler+"/record-written"] = "2000-01-01T00:00:00.000000000Z"
			secret.SetAnnotations(annotations)
			secret.Object["data"] = map[string]any{"manifests.json.gz": "AAAA"}
		}
	}
	s.component.status.RenderedSet = records.Found(damaged)
	s.restart()
	set, _, err := s.render()
	if err != nil || s.valueOf(set) != "random-1" {
		t.Errorf("the value is %q, want that of %s; Lost is %q; error %v", s.valueOf(set), genuine, set.Lost, err)
	}
}

func TestAFoundRecordReplacesNoSetInMemory(t *testing.T) {
	s := newScene(t)
	s.random()
	value, _ := s.apply()
	s.component.status.RenderedSet = records.Found(s.plant("planted"))
	set, calls, err := s.render()
	if err != nil || calls > 0 || s.valueOf(set) != value || set.Lost != "" {
		t.Errorf("the value is %q after %d calls; Lost is %q; error %v", s.valueOf(set), calls, set.Lost, err)
	}
}

func TestAFoundRecordThatWasEditedIsLost(t *testing.T) {
	s := newScene(t)
	s.random()
	s.apply()
	first := s.component.status.RenderedSet
	s.live("1234", "live")
	evil := s.plant("planted")
	for name, secret := range s.secrets.Secrets {
		if records.IDOf(name.Name) == first {
			for other, planted := range s.secrets.Secrets {
				if records.IDOf(other.Name) == evil {
					secret.Object["data"] = planted.Object["data"]
				}
			}
		}
	}
	s.forget(evil)
	for _, name := range []string{first, records.Found(first)} {
		s.component.status.RenderedSet = name
		s.restart()
		set, _, err := s.render()
		if err != nil || set.Lost == "" || !set.ValuesLost || s.valueOf(set) == "planted" || len(set.Objects) != 2 {
			t.Errorf("%s: the value is %q; Lost is %q; error %v", name, s.valueOf(set), set.Lost, err)
		}
	}
}

// A status may name a record that is kept for a component whose rendering is deterministic.
func TestAKeptRecordPinsNoValues(t *testing.T) {
	s := newScene(t)
	s.apply()
	s.component.status.RenderedSet = "k0123456789abcdef0123456789abcdef01234567"
	s.restart()
	set, calls, err := s.render()
	if err != nil || set.ID != "" || set.Lost != "" || set.ValuesLost || calls != 1 {
		t.Errorf("got the id %q after %d calls of the generator; Lost is %q; error %v", set.ID, calls, set.Lost, err)
	}
}
