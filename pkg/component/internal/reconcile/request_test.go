package reconcile

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// configMapComponent is a component for tests: a ConfigMap with a status.
type configMapComponent struct {
	corev1.ConfigMap
	status metav1alpha1.Status
}

func (c *configMapComponent) GetStatus() *metav1alpha1.Status { return &c.status }

// During a write, the client clears the component before it decodes the response of the API server into it. A watch
// event at that moment must still start a pass over the component.
func TestRequestWakesItsComponentWhileTheComponentIsWritten(t *testing.T) {
	var woken []types.NamespacedName
	p := Pass{
		Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)),
		Wake:  func(name types.NamespacedName) { woken = append(woken, name) },
	}
	object := &configMapComponent{}
	object.SetNamespace("shop")
	object.SetName("web")
	request := p.newRequest(&Component{Object: object}, work{})
	*object = configMapComponent{}
	request.Wake()
	if want := (types.NamespacedName{Namespace: "shop", Name: "web"}); len(woken) != 1 || woken[0] != want {
		t.Errorf("the event enqueued %v, want %v", woken, want)
	}
}
