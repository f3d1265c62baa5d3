package main

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// writerCounts are the numbers of bare writers of which the fastest is the floor.
var writerCounts = []int{1, 4, 8, 16, 32}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// floor measures what a bare client needs to create ConfigMaps, and to delete them: a request each, nothing recorded, nothing watched, no
// rate limit. It is the plain POST of the object that a component would render.
func (s *stage) floor(ctx context.Context, objects []*unstructured.Unstructured) (creation, deletion floorTime, err error) {
	creation, deletion = floorTime{All: map[int]float64{}}, floorTime{All: map[int]float64{}}
	for _, writers := range writerCounts {
		namespace, err := s.newNamespace(ctx)
		if err != nil {
			return creation, deletion, err
		}
		target := s.bare.Resource(configMaps).Namespace(namespace)
		err = creation.try(ctx, writers, len(objects), func(ctx context.Context, i int) error {
			_, err := target.Create(ctx, objects[i], metav1.CreateOptions{})
			return err
		})
		if err != nil {
			return creation, deletion, err
		}
		err = deletion.try(ctx, writers, len(objects), func(ctx context.Context, i int) error {
			return target.Delete(ctx, objects[i].GetName(), metav1.DeleteOptions{})
		})
		if err != nil {
			return creation, deletion, err
		}
	}
	return creation, deletion, nil
}

// try measures one number of writers, and keeps the fastest.
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

// parallel calls do for 0 to n-1, by that many workers, until one fails.
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
