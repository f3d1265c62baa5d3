package main

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/dynamic"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/marks"
	own "github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// writerCounts are the tested numbers of concurrent writers of the bare client. The floor is the time with the fastest
// number of writers.
var writerCounts = []int{1, 4, 8, 16, 32}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// floorManager is the field manager of bare writes. reconcilerName is the prefix of the operator's label and
// annotations.
const (
	floorManager   = "bench-floor"
	reconcilerName = own.ReconcilerName
)

// floor measures the time that a bare client needs to create and delete ConfigMaps with the same requests as the
// operator: a server-side apply that must not find the object, with the same label and annotations, and a delete with
// the UID of the created object. The client records and watches nothing, and has no rate limit. For comparison, the
// fastest number of writers also creates the same objects by POST, without label and annotations.
func (s *stage) floor(
	ctx context.Context,
	objects []*unstructured.Unstructured,
) (creation, deletion floorTime, err error) {
	creation, deletion = floorTime{All: map[int]float64{}}, floorTime{All: map[int]float64{}}
	marked := s.marked(objects)
	for _, writers := range writerCounts {
		created := make([]*unstructured.Unstructured, len(objects))
		target, err := s.bareNamespace(ctx)
		if err != nil {
			return creation, deletion, err
		}
		err = creation.try(ctx, writers, len(objects), func(ctx context.Context, i int) (err error) {
			created[i], err = target.Apply(
				ctx,
				marked[i].GetName(),
				marked[i],
				metav1.ApplyOptions{FieldManager: floorManager, Force: true},
			)
			return err
		})
		if err != nil {
			return creation, deletion, err
		}
		err = deletion.try(ctx, writers, len(objects), func(ctx context.Context, i int) error {
			uid, version := created[i].GetUID(), created[i].GetResourceVersion()
			return target.Delete(ctx, created[i].GetName(), metav1.DeleteOptions{
				Preconditions: &metav1.Preconditions{
					UID:             &uid,
					ResourceVersion: &version,
				},
				PropagationPolicy: new(metav1.DeletePropagationBackground),
			})
		})
		if err != nil {
			return creation, deletion, err
		}
	}
	creation.Post, err = s.post(ctx, creation.Writers, objects)
	return creation, deletion, err
}

// post creates objects by POST, and returns the duration in seconds.
func (s *stage) post(ctx context.Context, writers int, objects []*unstructured.Unstructured) (float64, error) {
	target, err := s.bareNamespace(ctx)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	err = parallel(ctx, writers, len(objects), func(ctx context.Context, i int) error {
		_, err := target.Create(ctx, objects[i], metav1.CreateOptions{})
		return err
	})
	return time.Since(begin).Seconds(), err
}

// bareNamespace creates a namespace for the ConfigMaps of the bare client.
func (s *stage) bareNamespace(ctx context.Context) (dynamic.ResourceInterface, error) {
	namespace, err := s.newNamespace(ctx)
	return s.bare.Resource(configMaps).Namespace(namespace), err
}

// marked returns copies of objects with the label and annotations that the operator adds.
func (s *stage) marked(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	owner := manifests.Owner{
		Cluster: string(uuid.NewUUID()), Reconciler: reconcilerName, Group: v1alpha1.GroupVersion.Group, Kind: "Component",
		Namespace: ownPrefix + "1", Name: componentName(0),
	}
	copies := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		o := object.DeepCopy()
		o.SetResourceVersion("1")
		o.SetLabels(map[string]string{reconcilerName + "/" + manifests.LabelOwnerID: owner.ID()})
		o.SetAnnotations(map[string]string{
			reconcilerName + "/" + manifests.AnnotationOwnerID: owner.String(),
			reconcilerName + "/" + marks.AnnotationDigest:      "0123456789abcdef",
		})
		copies = append(copies, o)
	}
	return copies
}

// try measures one number of writers, and stores the result if it is the fastest so far.
func (f *floorTime) try(ctx context.Context, writers, n int, write func(context.Context, int) error) error {
	begin := time.Now()
	if err := parallel(ctx, writers, n, write); err != nil {
		return err
	}
	seconds := time.Since(begin).Seconds()
	f.All[writers] = seconds
	if f.Writers == 0 || seconds < f.Seconds {
		f.Seconds, f.Writers = seconds, writers
	}
	return nil
}

// parallel calls do with the numbers from 0 to n-1, by the given number of workers, until a call fails.
func parallel(ctx context.Context, workers, n int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range workers {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := do(ctx, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
