package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

const (
	webPort   = 8080
	webServer = "nginxinc/nginx-unprivileged:1.28"
)

// generate returns the dependents of a page.
func generate(_ context.Context, page *WebPage, req generator.Request) ([]client.Object, error) {
	allowed, err := allowedElements(req)
	if err != nil {
		return nil, err
	}
	if err := checkElements(page.Spec.HTML, allowed); err != nil {
		return nil, err
	}
	objects := []client.Object{content(req.Name, page.Spec.HTML), server(req.Name, page.Spec.HTML), service(req.Name)}
	if page.Spec.Exposed {
		objects = append(objects, ingress(req.Name))
	}
	return objects, nil
}

// allowedElements returns the elements that the schema allows; nil if there is no schema.
func allowedElements(req generator.Request) ([]string, error) {
	schemas, found, err := generator.InputAs[[]map[string]string](req, schemaName)
	if err != nil || !found {
		return nil, err
	}
	return strings.Fields(schemas[0]["elements"]), nil
}

// checkElements returns an error that names all elements that are not allowed.
func checkElements(text string, allowed []string) error {
	if allowed == nil {
		return nil
	}
	elements, err := elementsOf(text)
	if err != nil {
		return err
	}
	refused := slices.DeleteFunc(elements, func(name string) bool { return slices.Contains(allowed, name) })
	if len(refused) > 0 {
		return fmt.Errorf("spec.html: the schema does not allow <%s>; remove it, or ask the owner of ConfigMap %s",
			strings.Join(refused, ">, <"), schemaName)
	}
	return nil
}

// voidElements have no end tag.
var voidElements = []string{"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}

// elementsOf returns the elements of a page, sorted and each once. It returns an error if an element is not closed.
func elementsOf(text string) ([]string, error) {
	tokens := html.NewTokenizer(strings.NewReader(text))
	var open, found []string
	for {
		kind := tokens.Next()
		name, _ := tokens.TagName()
		element := string(name)
		switch kind {
		case html.ErrorToken:
			if !errors.Is(tokens.Err(), io.EOF) {
				return nil, fmt.Errorf("spec.html: %w", tokens.Err())
			}
			if len(open) > 0 {
				return nil, fmt.Errorf("spec.html: <%s> is not closed; add </%s>", open[len(open)-1], open[len(open)-1])
			}
			slices.Sort(found)
			return slices.Compact(found), nil
		case html.StartTagToken:
			found = append(found, element)
			if !slices.Contains(voidElements, element) {
				open = append(open, element)
			}
		case html.SelfClosingTagToken:
			found = append(found, element)
		case html.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != element {
				return nil, fmt.Errorf("spec.html: </%s> closes no open element; remove it, or add <%s>", element, element)
			}
			open = open[:len(open)-1]
		case html.TextToken, html.CommentToken, html.DoctypeToken:
		}
	}
}

func labelsOf(name string) map[string]string { return map[string]string{"webpage": name} }

func content(name, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"index.html": text}}
}

func server(name, text string) *appsv1.Deployment {
	sum := sha256.Sum256([]byte(text))
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labelsOf(name)},
			Template: corev1.PodTemplateSpec{
				// Another text makes new pods, because nginx does not reload.
				ObjectMeta: metav1.ObjectMeta{
					Labels: labelsOf(name), Annotations: map[string]string{"page": hex.EncodeToString(sum[:8])},
				},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{
						Name: "nginx", Image: webServer, Ports: []corev1.ContainerPort{{ContainerPort: webPort}},
						VolumeMounts: []corev1.VolumeMount{{Name: "page", MountPath: "/usr/share/nginx/html"}},
					}},
					Volumes: []corev1.Volume{{Name: "page", VolumeSource: corev1.VolumeSource{
						ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
					}}},
				},
			},
		},
	}
}

func service(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Selector: labelsOf(name), Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(webPort)}},
		},
	}
}

func ingress(name string) *networkingv1.Ingress {
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{
			// The page must not stay reachable while something else of it is not ready.
			Name: name, Annotations: map[string]string{reconcilerName + "/prune-policy": "at-once"},
		},
		Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
			IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{
					Path: "/" + name, PathType: ptr.To(networkingv1.PathTypePrefix),
					Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
						Name: name, Port: networkingv1.ServiceBackendPort{Number: 80},
					}},
				}},
			}},
		}}},
	}
}
