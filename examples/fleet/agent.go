package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/component/eventsource"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

const agentNamespace = "fleet-system"

// generate returns the agent of a cluster, with a replica for each zone of its nodes.
func generate(_ context.Context, member *Member, req generator.Request) ([]client.Object, error) {
	zones, _, err := generator.InputAs[[]string](req, nodesName)
	if err != nil {
		return nil, err
	}
	slices.Sort(zones)
	zones = slices.Compact(zones)
	labels := map[string]string{"app": req.Name}
	return []client.Object{
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: req.Name}, Data: map[string]string{"zones": strings.Join(zones, ",")},
		},
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: req.Name},
			Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(max(1, len(zones)))), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec: corev1.PodSpec{
						Containers: []corev1.Container{{Name: "agent", Image: cmp.Or(member.Spec.Image, "registry.example.com/agent:1.0")}},
					},
				},
			},
		},
	}, nil
}

// zoneOf returns the zone of a node. Only this part of a node counts, so its heartbeats wake nobody.
func zoneOf(node *corev1.Node) any { return node.Labels[corev1.LabelTopologyZone] }

// report returns a hook that writes the zones of a cluster into the status of its member.
func report(
	update func(context.Context, *Member, func(*Member) error) error,
	nodes *eventsource.Relation[*Member, *corev1.Node],
) component.Hook[*Member] {
	return func(ctx context.Context, member *Member, _ component.DependentReader) error {
		found, err := nodes.Get(ctx, member)
		if err != nil {
			return err
		}
		var zones []string
		for _, node := range found {
			zones = append(zones, fmt.Sprint(zoneOf(node)))
		}
		slices.Sort(zones)
		text := strings.Join(slices.Compact(zones), ",")
		return update(ctx, member, func(m *Member) error {
			m.Status.Zones = text
			return nil
		})
	}
}
