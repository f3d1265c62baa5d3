package component

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// copiedPart is a part that can be copied.
type copiedPart struct{ part }

func (p *copiedPart) DeepCopyObject() runtime.Object {
	return &copiedPart{part{ConfigMap: *p.DeepCopy()}}
}

// cacheOf is a client whose cache has one component.
type cacheOf struct {
	client.Client
	component *copiedPart
}

func (c *cacheOf) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if i, ok := into.(*copiedPart); ok {
		c.component.DeepCopyInto(&i.ConfigMap)
	}
	return nil
}

func versioned(uid types.UID, version string) *copiedPart {
	return &copiedPart{part{ConfigMap: corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "app", UID: uid, ResourceVersion: version}}}}
}

func TestWhatWasWrittenToAComponentIsKept(t *testing.T) {
	ctx, name := context.Background(), types.NamespacedName{Namespace: "shop", Name: "app"}
	type step func(*Reconciler[*copiedPart], *cacheOf)
	begin := func(r *Reconciler[*copiedPart], _ *cacheOf) { r.written.begin(name) }
	end := func(r *Reconciler[*copiedPart], _ *cacheOf) { r.endPass(ctx, name) }
	write := func(version string) step {
		return func(r *Reconciler[*copiedPart], _ *cacheOf) { r.remember(versioned("u", version)) }
	}
	event := func(uid types.UID, version string) step {
		return func(r *Reconciler[*copiedPart], c *cacheOf) {
			c.component = versioned(uid, version)
			r.written.drop(c.component)
		}
	}
	for _, c := range []struct {
		name  string
		steps []step
		// freshest is the version that a pass begins with.
		freshest string
		kept     bool
	}{
		{"while the cache is older", []step{begin, write("20"), end}, "20", true},
		{"until the cache has it, after the pass", []step{begin, write("20"), end, event("u", "20")}, "20", false},
		{"until the cache has something newer", []step{begin, write("20"), end, event("u", "30")}, "30", false},
		{"until the pass ends, which compares with it", []step{begin, write("20"), event("u", "20")}, "20", true},
		{"no longer than the pass where the cache has it by then", []step{begin, write("20"), event("u", "20"), end}, "20", false},
		{"not where another component has its name", []step{begin, write("20"), end, event("v", "5")}, "5", false},
		{"while only an earlier write has arrived", []step{begin, write("20"), write("30"), end, event("u", "20")}, "30", true},
		{"also where an author writes beside a pass", []step{write("20")}, "20", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cached := &cacheOf{component: versioned("u", "10")}
			r := NewReconciler[*copiedPart]("a.example.com", nil, Options{})
			r.client = cached
			for _, s := range c.steps {
				s(r, cached)
			}
			found, err := r.freshest(ctx, name)
			if err != nil || found.GetResourceVersion() != c.freshest {
				t.Errorf("a pass begins with %s, %v; want %s", found.GetResourceVersion(), err, c.freshest)
			}
			if _, kept := r.written.of(name); kept != c.kept {
				t.Errorf("kept: %t", kept)
			}
		})
	}
}

func TestAPassBeginsWithWhatItComparesWithInTheEnd(t *testing.T) {
	name := types.NamespacedName{Namespace: "shop", Name: "app"}
	r := NewReconciler[*copiedPart]("a.example.com", nil, Options{})
	cached := &cacheOf{component: versioned("u", "20")}
	r.client = cached
	written := versioned("u", "20")
	written.Data = map[string]string{"time": "12:00:00.123"}
	r.remember(written)
	r.written.begin(name)
	found, err := r.freshest(t.Context(), name)
	if err != nil || found.Data["time"] != "12:00:00.123" {
		t.Errorf("it begins with what came back of it: %v, %v", found.Data, err)
	}
}
