package applier

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// withSettings adds settings to a manifest.
func withSettings(obj *unstructured.Unstructured, settings ...string) *unstructured.Unstructured {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	for i := 0; i < len(settings); i += 2 {
		annotations[reconciler+"/"+settings[i]] = settings[i+1]
	}
	obj.SetAnnotations(annotations)
	return obj
}

// countReads makes the API server count the reads of an object.
func (c *cluster) countReads(name string) func() int {
	reads := 0
	c.server.Refuse(func(r apiservertest.Request) error {
		if r.Method == "GET" && strings.HasSuffix(r.Path, "/"+name) {
			c.mu.Lock()
			defer c.mu.Unlock()
			reads++
		}
		return nil
	})
	return func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return reads
	}
}

func TestObservedObjectIsReadOnceAfterEachChange(t *testing.T) {
	c := newCluster(t)
	reads := c.countReads("theirs")
	observed := withSettings(object("v1", "ConfigMap", "theirs", nil), "reconcile-policy", "observe", "export",
		"size=size(self.data)")
	ours := withSettings(object("v1", "ConfigMap", "ours", map[string]any{"data": map[string]any{"x": "${{ size }}"}}),
		"bind", "true")
	c.desire(observed, ours)
	value := func() string {
		text, _, _ := unstructured.NestedString(c.server.Object("v1", "ConfigMap", "shop", "ours").Object, "data", "x")
		return text
	}
	o := c.apply()
	if len(o.Waiting) != 2 || o.Waiting[0].Reason != string(plan.WaitExport) ||
		o.Waiting[1].Reason != string(plan.WaitAbsent) || reads() != 0 {
		t.Fatalf("the pass must wait for the absent object without reads: %+v, %d reads", o.Waiting, reads())
	}
	for want, data := range []map[string]any{{}, {"a": "1"}} {
		for len(c.woken) > 0 {
			<-c.woken
		}
		c.server.Put("v1", "ConfigMap", "shop", "theirs", map[string]any{"data": data})
		c.eventually(func() bool { return c.apply().Done() && reads() == want+1 })
		if got := c.apply(); !got.Done() || reads() != want+1 || len(got.Observed) != 1 || len(got.Inventory) != 1 {
			t.Errorf("got %+v after %d reads, want %d", got, reads(), want+1)
		}
		if got := value(); got != []string{"0", "1"}[want] {
			t.Errorf("the bound value is %q", got)
		}
	}
	restarted := New(c.applier.options)
	c.applier = restarted
	if got := c.apply(); !got.Done() || reads() != 3 {
		t.Errorf("got %+v after %d reads, want one more after a restart", got, reads())
	}
	if got := c.delete(); !got.Done() || c.server.Object("v1", "ConfigMap", "shop", "theirs") == nil {
		t.Errorf("the deletion must leave the observed object: %+v", got)
	}
}

func TestUnknownValuesChangeNothing(t *testing.T) {
	c := newCluster(t)
	source := withSettings(configMap("source", "0"), "export", "a=self.data.a")
	target := withSettings(object("v1", "ConfigMap", "target", map[string]any{"data": map[string]any{"x": "${{ a }}"}}),
		"bind", "true")
	c.desire(source, target)
	if o := c.apply(); !o.Done() {
		t.Fatalf("the first pass is not done: %+v", o)
	}
	before := c.server.Object("v1", "ConfigMap", "shop", "target").GetResourceVersion()
	withSettings(source, "export", "a=self.data.none")
	c.desire(source, target)
	c.request.Revision = 2
	o := c.apply()
	expectVerbs(t, o, "Apply source")
	if len(o.Waiting) != 1 || !strings.Contains(o.Waiting[0].Message, "the applied values stay") || !o.Applied {
		t.Errorf("got %+v", o)
	}
	if after := c.server.Object("v1", "ConfigMap", "shop", "target").GetResourceVersion(); after != before {
		t.Errorf("the object with the hole was written: version %s, then %s", before, after)
	}
	if live := c.client.Observer.Snapshot(c.client.Reader, []manifests.Key{keyOf("source")}).
		Of(keyOf("source")); live.Exports == nil {
		t.Error("the exports of the response are not kept")
	}
}
