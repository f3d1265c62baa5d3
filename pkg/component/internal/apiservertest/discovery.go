package apiservertest

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// discover handles a discovery request. The result found is false for other requests. The result answer is nil if the
// discovery of the group and version fails; see Break.
func (s *Server) discover(path []string) (answer any, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch text := strings.Join(path, "/"); {
	case text == "version":
		return version.Info{GitVersion: "v1.36.3"}, true
	case text == "api":
		return metav1.APIVersions{Versions: []string{"v1"}}, true
	case text == "apis":
		return s.groups(), true
	case len(path) == 2 && path[0] == "api" || len(path) == 3 && path[0] == "apis":
		gv, err := schema.ParseGroupVersion(strings.Join(path[1:], "/"))
		must(err)
		return s.list(gv)
	case len(path) == 2 && path[0] == "apis":
		for _, group := range s.groups().Groups {
			if group.Name == path[1] {
				return group, true
			}
		}
	}
	return nil, false
}

// list returns the resources of a group and version. found is false if the version is not served. answer is nil if its
// discovery fails; see Break.
func (s *Server) list(gv schema.GroupVersion) (answer any, found bool) {
	if s.broken[gv] {
		return nil, true
	}
	list := metav1.APIResourceList{GroupVersion: gv.String()}
	for gvr, resource := range s.resources {
		if gvr.GroupVersion() == gv {
			list.APIResources = append(list.APIResources, resource)
		}
	}
	slices.SortFunc(list.APIResources, func(a, b metav1.APIResource) int { return strings.Compare(a.Name, b.Name) })
	return list, len(list.APIResources) > 0
}

func (s *Server) groups() metav1.APIGroupList {
	var all metav1.APIGroupList
	seen := map[schema.GroupVersion]bool{}
	for gvr := range s.resources {
		if gvr.Group != "" {
			seen[gvr.GroupVersion()] = true
		}
	}
	for _, gv := range slices.SortedFunc(maps.Keys(seen), func(a, b schema.GroupVersion) int {
		return strings.Compare(a.String(), b.String())
	}) {
		offered := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		i := slices.IndexFunc(all.Groups, func(g metav1.APIGroup) bool { return g.Name == gv.Group })
		if i < 0 {
			i, all.Groups = len(all.Groups), append(all.Groups, metav1.APIGroup{Name: gv.Group})
		}
		all.Groups[i].Versions = append(all.Groups[i].Versions, offered)
		all.Groups[i].PreferredVersion = all.Groups[i].Versions[0]
	}
	return all
}
