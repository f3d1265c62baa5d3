package dependentcauses

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var claimKind = schema.GroupKind{Kind: "PersistentVolumeClaim"}

// pods returns the causes of the pods that are not ready. Pods of a workload usually have the same problem, so the
// same problem of several pods is returned only once.
func pods(f Facts) []Cause {
	var found []Cause
	reported := map[string]bool{}
	for _, pod := range unready(f.Pods) {
		for _, p := range problemsOf(f, &pod) {
			if !reported[p.about] {
				reported[p.about] = true
				found = append(found, Cause{Object: podKey(&pod).String(), Reason: p.reason, Message: p.message})
			}
		}
	}
	return found
}

// unready returns the pods that are neither ready nor complete, sorted by name. Pods that are being deleted are left
// out.
func unready(all []corev1.Pod) []corev1.Pod {
	var chosen []corev1.Pod
	for _, pod := range all {
		ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if !ready && pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded {
			chosen = append(chosen, pod)
		}
	}
	slices.SortFunc(chosen, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return chosen
}

// problem is a problem of a pod. Problems of several pods are treated as the same problem if about is equal.
type problem struct{ about, reason, message string }

// problemsOf returns the problems in the status of a pod or, if there are none, its latest warning Event.
func problemsOf(f Facts, pod *corev1.Pod) []problem {
	var found []problem
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			found = append(found, problem{about: "scheduling", reason: c.Reason, message: c.Message})
		}
	}
	for _, c := range containersOf(pod) {
		if p, ok := problemOf(c, f.LastLines[Container{Pod: pod.UID, Name: c.Name}]); ok {
			found = append(found, p)
		}
	}
	if warnings := latest(f.Warnings[pod.UID]); len(found) == 0 && len(warnings) > 0 {
		w := warnings[0]
		found = append(found, problem{about: "event " + w.Reason, reason: w.Reason, message: w.Message})
	}
	return found
}

func containersOf(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

// problemOf returns the problem of a container, if it has one.
func problemOf(c corev1.ContainerStatus, lastLine string) (problem, bool) {
	about := "container " + c.Name
	if ended, _ := failureOf(c); ended != nil {
		message := fmt.Sprintf("%s exited with code %d", about, ended.ExitCode)
		if lastLine != "" {
			message += ": " + lastLine
		}
		reason := ended.Reason
		if c.State.Waiting != nil {
			reason = c.State.Waiting.Reason
		}
		return problem{about: about, reason: reason, message: message}, true
	}
	waiting := c.State.Waiting
	if waiting == nil {
		return problem{}, false
	}
	switch waiting.Reason {
	case "", "ContainerCreating", "PodInitializing":
		return problem{}, false
	}
	message := about
	if waiting.Message != "" {
		message += ": " + waiting.Message
	}
	return problem{about: about, reason: waiting.Reason, message: message}, true
}

// failureOf returns the termination of a container that failed and is not running. It returns nil for other containers.
// Previous reports whether the failure's log is the log of the previous instance of the container.
func failureOf(c corev1.ContainerStatus) (ended *corev1.ContainerStateTerminated, previous bool) {
	if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
		return t, false
	}
	if w := c.State.Waiting; w != nil && w.Reason == "CrashLoopBackOff" {
		return c.LastTerminationState.Terminated, true
	}
	return nil, false
}

// brokenClaims returns a cause for each claim that is not bound because of a missing storage class or a warning Event.
func brokenClaims(f Facts) []Cause {
	var found []Cause
	for _, claim := range pending(f.Claims) {
		object := claimKey(&claim).String()
		if class := classOf(&claim); f.MissingClasses[class] {
			found = append(found, Cause{
				Object: object, Reason: "StorageClassNotFound", Message: fmt.Sprintf("storage class %q does not exist", class),
			})
		} else if warnings := latest(f.Warnings[claim.UID]); len(warnings) > 0 {
			found = append(found, Cause{Object: object, Reason: warnings[0].Reason, Message: warnings[0].Message})
		}
	}
	return found
}

// pendingClaims returns a cause for each claim that is not bound and for which brokenClaims returns no cause.
func pendingClaims(f Facts) []Cause {
	var found []Cause
	for _, claim := range pending(f.Claims) {
		class := classOf(&claim)
		if f.MissingClasses[class] || len(f.Warnings[claim.UID]) > 0 {
			continue
		}
		message := "no volume is bound, and the claim names no storage class"
		if class != "" {
			message = fmt.Sprintf("no volume of storage class %q is bound", class)
		}
		found = append(found, Cause{Object: claimKey(&claim).String(), Reason: "Pending", Message: message})
	}
	return found
}

// pending returns the claims that are not bound, sorted by name.
func pending(all []corev1.PersistentVolumeClaim) []corev1.PersistentVolumeClaim {
	chosen := slices.DeleteFunc(slices.Clone(all), func(c corev1.PersistentVolumeClaim) bool {
		return c.Status.Phase == corev1.ClaimBound
	})
	slices.SortFunc(chosen, func(a, b corev1.PersistentVolumeClaim) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(chosen, func(a, b corev1.PersistentVolumeClaim) bool { return a.UID == b.UID })
}

func classOf(claim *corev1.PersistentVolumeClaim) string {
	if claim.Spec.StorageClassName == nil {
		return ""
	}
	return *claim.Spec.StorageClassName
}

func podKey(pod *corev1.Pod) manifests.Key {
	return manifests.Key{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}
}

func claimKey(claim *corev1.PersistentVolumeClaim) manifests.Key {
	return manifests.Key{Kind: claimKind.Kind, Namespace: claim.Namespace, Name: claim.Name}
}
