package reconcile

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// configMapComponent is a component with few fields.
type configMapComponent struct {
	corev1.ConfigMap
	status metav1alpha1.Status
}

func (c *configMapComponent) GetStatus() *metav1alpha1.Status { return &c.status }

// The client empties an object before it decodes the answer to a write into it. A watch event at that time must wake
// the
// component all the same.
func TestRequestWakesItsComponentWhileTheComponentIsWritten(t *testing.T) {
	var woken []types.NamespacedName
	p := Pass{
		Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)),
		Wake:  func(name types.NamespacedName) { woken = append(woken, name) },
	}
	object := &configMapComponent{}
	object.SetNamespace("shop")
	object.SetName("web")
	request := p.newRequest(&Component{Object: object}, manifests.Owner{}, nil)
	*object = configMapComponent{}
	request.Wake()
	if want := (types.NamespacedName{Namespace: "shop", Name: "web"}); len(woken) != 1 || woken[0] != want {
		t.Errorf("woken: %v, want %v", woken, want)
	}
}
