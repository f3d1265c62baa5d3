package rendering

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
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

// live stores the ConfigMap a with a value, as an object of the component. digest is the digest of its applied manifest.
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

// plant writes a record of a tenant, whose id proves it, with another value of the ConfigMap a and another object.
func (s *scene) plant() (id string) {
	s.t.Helper()
	var bodies []*unstructured.Unstructured
	for _, name := range []string{"a", "planted"} {
		body := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name},
			"data": map[string]any{"value": "planted"},
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

func TestAFoundRecordIsUsedOnlyForObjectsThatProveIt(t *testing.T) {
	const applied = "applied"
	for _, c := range []struct {
		name string
		// digest is the digest annotation of the live object, "applied" for that of the applied manifest; there is no live
		// object if it is empty.
		digest, value string
		planted       bool
		want, tells   string
	}{
		{"an object that drifted gets its value again", applied, "drifted", false, "random-1", "are kept: ConfigMap a"},
		{"an object that did not drift keeps its value", applied, "random-1", false, "random-1", "are kept"},
		{"an object of another manifest keeps its value", "1234", "other", false, "other", "are kept"},
		{"an object that does not exist gets a new value", "", "", false, "random-3", "no object has its values"},
		{"a planted record changes no object", applied, "random-1", true, "random-1", "are kept"},
		{"a planted record does not choose the value of a new object", "", "", true, "random-3", "no object has its values"},
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
			if c.planted {
				found = s.plant()
			}
			if c.digest == applied {
				c.digest = digestOf(set)
			}
			if c.digest != "" {
				s.live(c.digest, c.value)
			}
			s.component.status = metav1alpha1.Status{
				InputDigest: s.request.Inputs.Digest, Revision: 1, RenderedSet: records.Found(found),
			}
			s.restart()
			after, calls, err := s.render()
			if err != nil || s.valueOf(after) != c.want || !strings.Contains(after.Lost, c.tells) {
				t.Errorf("the value is %q, want %q; Lost is %q; error %v", s.valueOf(after), c.want, after.Lost, err)
			}
			if calls == 0 || len(after.Objects) != len(set.Objects) || after.ValuesLost {
				t.Errorf("the generator was called %d times, and the set has %d objects, want %d",
					calls, len(after.Objects), len(set.Objects))
			}
			if !records.IsProven(after.ID) || after.ID == found {
				t.Errorf("the rendering has the id %q", after.ID)
			}
		})
	}
}

func TestAFoundRecordThatWasEditedIsLost(t *testing.T) {
	s := newScene(t)
	s.random()
	s.apply()
	first := s.component.status.RenderedSet
	s.live("1234", "live")
	evil := s.plant()
	for name, secret := range s.secrets.Secrets {
		if records.IDOf(name.Name) == first {
			for other, planted := range s.secrets.Secrets {
				if records.IDOf(other.Name) == evil {
					secret.Object["data"] = planted.Object["data"]
				}
			}
		}
	}
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
