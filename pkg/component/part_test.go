package component

import (
	corev1 "k8s.io/api/core/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// part is a component for tests. part embeds a ConfigMap and has only a status in addition.
type part struct {
	corev1.ConfigMap
	status metav1alpha1.Status
}

func (*part) GetParameters() (map[string]any, error) { return nil, nil }

func (p *part) GetStatus() *metav1alpha1.Status { return &p.status }
