package manifests

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// digestLength is the length of a digest in hex characters: 64 bits tell the versions of one object apart, and keep inventories small.
const digestLength = 16

// Digest identifies a JSON value: equal values have equal digests, whatever the order of map keys.
func Digest(value any) (string, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("the manifest cannot be written as JSON: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:digestLength], nil
}

// settingsDigestLength is shorter: it only has to tell the settings of one object from those it had before.
const settingsDigestLength = 8

// settingsMark stands between the digest of the content and that of the settings.
const settingsMark = "."

// digestManifest identifies a manifest in two parts: its content, and, where it has settings, these. So a changed policy can be told from a
// changed object; see SameContent. The body is only read.
func digestManifest(body map[string]any, reconciler string) (string, error) {
	content, settings := splitSettings(body, reconciler)
	digest, err := Digest(content)
	if err != nil || len(settings) == 0 {
		return digest, err
	}
	ofSettings, err := Digest(settings)
	if err != nil {
		return "", err
	}
	return digest + settingsMark + ofSettings[:settingsDigestLength], nil
}

// SameContent says of two digests that the manifests differ in their settings at the most. Nothing is the same as what was never applied.
func SameContent(a, b string) bool {
	contentA, _, _ := strings.Cut(a, settingsMark)
	contentB, _, _ := strings.Cut(b, settingsMark)
	return contentA != "" && contentA == contentB
}

// splitSettings returns the body without the annotations that are settings, and these. Annotations that are empty then, or were before, are
// left out, so that the first setting changes no content.
func splitSettings(body map[string]any, reconciler string) (content map[string]any, settings map[string]any) {
	metadata, ok := body["metadata"].(map[string]any)
	if !ok {
		return body, nil
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	others := maps.Clone(annotations)
	settings = map[string]any{}
	for key, value := range annotations {
		if strings.HasPrefix(key, reconciler+"/") {
			settings[key] = value
			delete(others, key)
		}
	}
	metadata = maps.Clone(metadata)
	metadata["annotations"] = others
	if len(others) == 0 {
		delete(metadata, "annotations")
	}
	content = maps.Clone(body)
	content["metadata"] = metadata
	return content, settings
}
