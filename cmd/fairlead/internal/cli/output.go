package cli

import "github.com/spf13/cobra"

const outputTopic = `Most commands that show something have the flag -o with the formats json and yaml for programs. The
format name prints an object per line, as kubectl does, and other commands accept these names as arguments.

Results and progress are on stdout, warnings and errors on stderr. A command that has printed nothing for a second
prints what it does as a line on stderr, if stderr is a terminal. The first line of the result replaces this line.

There are no colours and no other control sequences if the output is not a terminal, with --no-color, if the variable
NO_COLOR is not empty, or if TERM is dumb. Control characters in texts from the cluster and from charts, and those that
change the direction of text, are replaced, so that they cannot control your terminal. json and yaml escape them.
render, export and rbac print exact YAML, which escapes control characters only. logs and test --logs print the output
of programs unchanged.

The schema of json and yaml is stable. Within cli.fairlead.io/v1alpha1 fields may be added, and no field changes its
meaning. A field without a question mark is always there. States and reasons are texts, and later versions may add
values. list prints a List, whose items are like component in a Tree, ordered by namespace and name. tree prints a
Tree:

    apiVersion: cli.fairlead.io/v1alpha1
    kind: Tree
    operator: {state: Absent, message: "..."}  # ? Absent or NotChecked
    component:
      apiVersion: fairlead.io/v1alpha1
      kind: Component
      namespace: apps             # ?
      name: shop
      uid: 0b3c...
      creationTimestamp: "2026-03-01T11:00:00Z"
      generation: 3
      observedGeneration: 3       # 0 until the operator has seen the component
      state: Progressing          # empty until then
      ready: "False"              # or "True" or "Unknown": the condition Ready
      reason: DependentsNotReady  # ?
      message: "..."                # ?
      revision: 3
      dependents: {total: 4, ready: 2, summary: 2/4}
    dependents:                   # by wave, stage, kind, namespace, name
    - wave: 1
      group: apps                 # empty for the core group
      version: v1                 # empty for a kind that is not served
      kind: Deployment
      namespace: shop             # ?
      name: web
      uid: 7d1e...                  # ? of the live object
      dependsOn: []               # ? the object belongs to no wave
      state: InProgress
      observed: true              # ? the component only reads the object
      reason: NotFound            # ?
      message: "Available: 1/2"   # ?
      causes:                     # ? three at most
      - {object: Pod shop/web-7d4, reason: Unschedulable, message: "..."}
      ignored: [{path: spec.replicas, by: annotation}]  # ?
    leftOut:                      # ? ten at most
    - {dependent: Service shop/old, reason: Excluded, message: "..."}

status prints a Status:

    apiVersion: cli.fairlead.io/v1alpha1
    kind: Status
    component: {}                 # as in a Tree
    operator: {}                  # ? as in a Tree
    grant: fairlead rbac ...        # ? grants rights that are missing
    since: "..."                    # ? when the condition Ready got its value
    deletionTimestamp: "..."        # ?
    conditions:                   # Ready first, the others by type
    - type: Ready
      status: "False"
      reason: Timeout
      message: "..."              # ?
      since: "..."
    blocked:                      # types whose instances block; ten at most
    - type: Widget.demo.example.com
      count: 2
      names: [team/mine, team/yours]  # ?
      message: "..."                # ? why the instances are not known
    waiting:                      # ten at most
    - dependent: Deployment.apps shop/web
      wave: 1
      reason: InProgress
      message: "..."                # ?
      causes:                     # ? three at most
      - {object: Pod shop/web-7d4, reason: Unschedulable, message: "..."}
    leftOut: []                   # ? as in a Tree
    exports: [{name: url, value: "..."}]  # ?
    blockers: []                  # sentences; of a deletion
    next: when something changes
    progressingSince: "..."         # ?
    timesOut: "..."                 # ?
    reconciler: fairlead.io       # ?
    target: {namespace: shop, name: shop, cluster: "..."}  # each ?
    source: ConfigMap shop-8f43...  # ? in the spec
    applied:                      # of the revision; all but rendition ?
      rendition: 0
      source: "..."
      sourceDigest: "..."
      inputDigest: "..."
      appliedDigest: "..."
      lookupsDigest: "..."
      appliedGeneration: 3

history prints a History:

    apiVersion: cli.fairlead.io/v1alpha1
    kind: History
    component: {}                 # as in a Tree
    revisions:                    # the newest last
    - revision: 2                 # 0 for inputs that made no revision
      generation: 3
      outcome: Failed
      reason: Timeout             # ?
      started: "..."
      ended: "..."                  # ?
      digest: "..."                 # ?
      source: "..."                 # ?
      sourceDigest: "..."           # ?
      sourceVersion: shop-1.0.0   # ?
      changes: ["replicas: 1 to 2"]  # ?
      adopted: []                 # ? the first objects
      adoptedCount: 1             # ?

events prints Events:

    apiVersion: cli.fairlead.io/v1alpha1
    kind: Events
    items:                        # the newest last
    - time: "..."                   # of the last report
      since: "..."                  # of the first report
      count: 3
      type: Warning
      reason: BackOff
      message: "..."
      reporter: kubelet           # ?
      object: {group: "", kind: Pod, namespace: shop, name: web-7d4}`

// newOutput returns the help topic output, which is a command that cannot be run.
func newOutput() *cobra.Command {
	return &cobra.Command{Use: "output", Short: "What the output formats contain", Long: outputTopic}
}
