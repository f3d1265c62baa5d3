package ready

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// obstacles are conditions of workloads that say why the workload makes no progress, with the status that they have
// then. kstatus leaves out their messages.
var obstacles = []struct{ kind, status string }{
	{"ReplicaFailure", "True"},
	{"PodScheduled", "False"},
}

// maxObstacle bounds the message of an obstacle, in bytes.
const maxObstacle = 400

// withObstacle returns a result with the first obstacle that the conditions of an object in progress report.
func withObstacle(obj *unstructured.Unstructured, r Result) Result {
	if r.State != InProgress {
		return r
	}
	for _, o := range obstacles {
		condition, err := findCondition(obj, o.kind)
		if err != nil || condition == nil || condition["status"] != o.status {
			continue
		}
		reason, _ := condition["reason"].(string)
		message, _ := condition["message"].(string)
		text := strings.Trim(reason+": "+strings.Join(strings.Fields(message), " "), ": ")
		if text != "" && !strings.Contains(r.Message, message) {
			r.Message += "; " + strings.ToValidUTF8(text[:min(len(text), maxObstacle)], "")
		}
		return r
	}
	return r
}
