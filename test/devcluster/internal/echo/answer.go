package echo

import (
	"encoding/json"
	"net/http"
	"strings"
)

// maxBody is far above what the API server sends.
const maxBody = 64 << 20

// answer answers a webhook, or the discovery of an API.
func answer(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		discover(w, r)
		return
	}
	var review map[string]any
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response := reviewed(review)
	if response == nil {
		http.NotFound(w, r)
		return
	}
	write(w, response)
}

// reviewed returns the answer to a review: everything is admitted, and objects are converted by changing their version.
// It returns nil if the request is no review.
func reviewed(review map[string]any) map[string]any {
	request, _ := review["request"].(map[string]any)
	response := map[string]any{"uid": request["uid"]}
	switch review["kind"] {
	case "AdmissionReview":
		response["allowed"] = true
	case "ConversionReview":
		objects, _ := request["objects"].([]any)
		for _, object := range objects {
			if fields, ok := object.(map[string]any); ok {
				fields["apiVersion"] = request["desiredAPIVersion"]
			}
		}
		response["convertedObjects"] = objects
		response["result"] = map[string]any{"status": "Success"}
	default:
		return nil
	}
	return map[string]any{"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}
}

// discover answers the discovery of a version of an API: it has no types. Everything else is not found, so that the API
// server asks for single versions.
func discover(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) != 3 || parts[0] != "apis" {
		http.NotFound(w, r)
		return
	}
	write(w, map[string]any{
		"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": parts[1] + "/" + parts[2], "resources": []any{},
	})
}

func write(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // The API server has closed the connection if this fails.
}
