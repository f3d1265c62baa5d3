package main

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// managedBy is the label that Helm sets on all objects of a release.
const managedBy = "app.kubernetes.io/managed-by"

// isMark reports whether Helm, Fairlead or a controller of Kubernetes writes a label or an annotation. Other labels and
// annotations come from the chart.
func isMark(key string) bool {
	domain, name, _ := strings.Cut(key, "/")
	switch domain {
	case "meta.helm.sh",
		"pv.kubernetes.io",
		"volume.kubernetes.io",
		"volume.beta.kubernetes.io",
		"deprecated.daemonset.template.generation":
		return true
	case "deployment.kubernetes.io":
		return name == "revision"
	}
	return key == managedBy || strings.HasSuffix(key, "controller-uid") || key == "kubernetes.io/service-account.uid" ||
		domain == "fairlead.io" || strings.HasSuffix(domain, ".fairlead.io")
}

// normalise returns a copy of a live object without the labels and annotations that isMark finds, without the status,
// and without the fields that the API server sets.
func normalise(live *unstructured.Unstructured) map[string]any {
	body := live.DeepCopy().Object
	delete(body, "status")
	metadata, _ := body["metadata"].(map[string]any)
	for _, field := range []string{
		"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "deletionTimestamp",
		"deletionGracePeriodSeconds", "ownerReferences",
	} {
		delete(metadata, field)
	}
	dropMarks(body)
	spec, _ := body["spec"].(map[string]any)
	switch live.GetKind() {
	case "Service":
		dropAllocated(spec)
	case "PersistentVolumeClaim":
		delete(spec, "volumeName")
	case "Secret":
		if live.Object["type"] == "kubernetes.io/service-account-token" {
			delete(body, "data")
		}
	}
	return body
}

// dropMarks removes marks (see isMark) from all maps of labels and annotations, including those of templates and
// selectors. It also removes the maps that are then empty.
func dropMarks(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			entries, isMap := field.(map[string]any)
			if isMap && (key == "labels" || key == "annotations" || key == "matchLabels") {
				for name := range entries {
					if isMark(name) {
						delete(entries, name)
					}
				}
				if len(entries) == 0 {
					delete(value, key)
				}
				continue
			}
			dropMarks(field)
		}
	case []any:
		for _, item := range value {
			dropMarks(item)
		}
	}
}

// dropAllocated removes the addresses and node ports of a Service.
func dropAllocated(spec map[string]any) {
	if spec["clusterIP"] != "None" {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
	}
	delete(spec, "healthCheckNodePort")
	ports, _ := spec["ports"].([]any)
	for _, port := range ports {
		if fields, ok := port.(map[string]any); ok {
			delete(fields, "nodePort")
		}
	}
}
