//go:build programs

package conformance_test

import (
	"context"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hookDriver finishes the pods of hooks, and binds their claims. The pods have a node selector that no node has, so
// nothing else changes their status.
type hookDriver struct {
	// id is the value of the label driven on the objects that the driver changes.
	id string
	// fails is set while pods whose names contain "fails" fail. All other pods succeed.
	fails atomic.Bool
}

// drivenPod is the spec of a pod that a hookDriver finishes.
const drivenPod = `nodeSelector: {driven: by-the-test}
restartPolicy: Never
terminationGracePeriodSeconds: 0
containers: [{name: main, image: "busybox:1"}]
`

// runHookDriver runs a driver until the spec ends.
func runHookDriver(ctx context.Context) *hookDriver {
	GinkgoHelper()
	d := &hookDriver{id: newGroup()}
	watcher, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: k8s.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	DeferCleanup(func(ctx SpecContext) {
		end()
		Expect(k8s.DeleteAllOf(ctx, &corev1.PersistentVolume{}, client.MatchingLabels{"driven": d.id})).To(Succeed())
	})
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.PersistentVolumeClaimList{}} {
		go func() {
			defer GinkgoRecover()
			for life.Err() == nil {
				d.follow(life, watcher, list)
			}
		}()
	}
	return d
}

// follow handles the objects of one watch.
func (d *hookDriver) follow(ctx context.Context, watcher client.WithWatch, list client.ObjectList) {
	w, err := watcher.Watch(ctx, list, client.MatchingLabels{"driven": d.id})
	if err != nil {
		return
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		switch o := event.Object.(type) {
		case *corev1.Pod:
			if o.DeletionTimestamp == nil && o.Status.Phase == corev1.PodPending {
				d.finish(ctx, o)
			}
		case *corev1.PersistentVolumeClaim:
			if o.DeletionTimestamp == nil && o.Status.Phase == corev1.ClaimPending {
				d.bind(ctx, o)
			}
		}
	}
}

// finish sets the phase of a pod. A pod that was deleted in the meantime is ignored.
func (d *hookDriver) finish(ctx context.Context, pod *corev1.Pod) {
	phase := corev1.PodSucceeded
	if d.fails.Load() && strings.Contains(pod.Name, "fails") {
		phase = corev1.PodFailed
	}
	_ = k8s.Status().Patch(ctx, pod, client.RawPatch(types.MergePatchType,
		[]byte(`{"status":{"phase":"`+string(phase)+`"}}`)))
}

// bind creates a volume for a claim, which Kubernetes then binds. A volume that exists is ignored.
func (d *hookDriver) bind(ctx context.Context, claim *corev1.PersistentVolumeClaim) {
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "volume-" + string(claim.UID), Labels: map[string]string{"driven": d.id}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:            claim.Spec.AccessModes,
			StorageClassName:       *claim.Spec.StorageClassName,
			ClaimRef:               &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/none"}},
		},
	}
	_ = k8s.Create(ctx, volume)
}
