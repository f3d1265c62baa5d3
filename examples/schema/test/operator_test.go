package test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/examples/schema/operator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

// absent is the state of a Database that does not exist any more.
const absent = "absent"

// world is a cluster with the operator, and a database server. The tests share them.
type world struct {
	client  client.Client
	address string
}

func TestOperator(t *testing.T) {
	w := newWorld(t)
	for name, test := range map[string]func(*testing.T, *world){
		"a database gives its application a schema, a user and a password": testApplication,
		"a schema and a user that somebody changes are repaired":           testRepair,
		"a new password in the Secret becomes the password of the user":    testRotation,
		"a schema of another component is not taken over":                  testTwoOwners,
		"the deletion drops the schema and its user, unless they are kept": testDeletion,
	} {
		t.Run(name, func(t *testing.T) { test(t, w) })
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	cluster := testcluster.StartFor(t, testcluster.Options{})
	log.SetLogger(zap.New(zap.WriteTo(t.Output())))
	scheme := runtime.NewScheme()
	g := NewWithT(t)
	g.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	g.Expect(operator.AddToScheme(scheme)).To(Succeed())
	c, err := client.New(cluster.Config(), client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	files, err := filepath.Glob("../config/*.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range files {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		objects, err := manifests.Decode(file, text)
		g.Expect(err).NotTo(HaveOccurred())
		for _, object := range objects {
			g.Expect(c.Create(t.Context(), object)).To(Succeed())
		}
	}
	g.Eventually(func() error { return c.List(t.Context(), &operator.DatabaseList{}) }, time.Minute).Should(Succeed())

	manager, err := operator.NewManager(cluster.Config(), operator.Options{Poll: 200 * time.Millisecond})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background()) // t.Context ends before the clean-up.
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the operator ended: %v", err)
		}
	})
	return &world{client: c, address: inProcess(t)}
}

// database creates a namespace with the name, the Secret of the administrator, and a Database.
func (w *world) database(t *testing.T, name, schema string) *operator.Database {
	t.Helper()
	database := &operator.Database{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "shop"},
		Spec:       operator.DatabaseSpec{Schema: schema, Charset: "utf8mb4", AdminSecretName: "db-admin"},
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "db-admin"},
			StringData: map[string]string{"address": w.address, "username": adminUser, "password": adminPassword},
		},
		database,
	} {
		NewWithT(t).Expect(w.client.Create(t.Context(), object)).To(Succeed())
	}
	return database
}

// state returns the condition Ready of the database for its current spec.
func (w *world) state(t *testing.T, database *operator.Database) string {
	t.Helper()
	err := w.client.Get(t.Context(), client.ObjectKeyFromObject(database), database)
	if apierrors.IsNotFound(err) {
		return absent
	}
	if err != nil {
		return err.Error()
	}
	c := meta.FindStatusCondition(database.Status.Conditions, metav1alpha1.ConditionReady)
	if c == nil || c.ObservedGeneration != database.Generation {
		return "not yet"
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

func (w *world) ready(t *testing.T, database *operator.Database) {
	t.Helper()
	NewWithT(t).Eventually(func() string { return w.state(t, database) }, time.Minute).Should(HavePrefix("True"))
}

// usable returns the error of a connection as the application makes it, from its Secret and ConfigMap.
func (w *world) usable(t *testing.T, namespace string) error {
	t.Helper()
	key := client.ObjectKey{Namespace: namespace, Name: "shop-db"}
	login, place := &corev1.Secret{}, &corev1.ConfigMap{}
	if err := w.client.Get(t.Context(), key, login); err != nil {
		return err
	}
	if err := w.client.Get(t.Context(), key, place); err != nil {
		return err
	}
	user, password := string(login.Data["username"]), string(login.Data["password"])
	db := connect(t, place.Data["address"], user, password, place.Data["schema"])
	return db.PingContext(t.Context())
}

func testApplication(t *testing.T, w *world) {
	w.ready(t, w.database(t, "application", "orders"))
	NewWithT(t).Expect(w.usable(t, "application")).To(Succeed())
}

func testRepair(t *testing.T, w *world) {
	w.ready(t, w.database(t, "repair", "repair"))
	admin := connect(t, w.address, adminUser, adminPassword, "")
	for _, statement := range []string{
		"ALTER USER 'repair'@'%' IDENTIFIED BY 'other'", "DROP USER 'repair'@'%'", "DROP DATABASE `repair`",
	} {
		execute(t, admin, statement)
		g := NewWithT(t)
		g.Expect(w.usable(t, "repair")).NotTo(Succeed())
		g.Eventually(func() error { return w.usable(t, "repair") }, time.Minute).Should(Succeed())
	}
}

func testRotation(t *testing.T, w *world) {
	database := w.database(t, "rotation", "rotation")
	w.ready(t, database)
	g := NewWithT(t)
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: "rotation", Name: "shop-db"}
	g.Expect(w.client.Get(t.Context(), key, secret)).To(Succeed())
	previous := string(secret.Data["password"])
	g.Expect(previous).To(HaveLen(32))

	// Without the Secret, the operator renders a new password. A change of its content would be reverted.
	g.Expect(w.client.Delete(t.Context(), secret)).To(Succeed())
	g.Eventually(func() error { return w.usable(t, "rotation") }, time.Minute).Should(Succeed())
	g.Expect(w.client.Get(t.Context(), key, secret)).To(Succeed())
}

func testTwoOwners(t *testing.T, w *world) {
	w.ready(t, w.database(t, "owner", "shared"))
	other := w.database(t, "intruder", "shared")
	g := NewWithT(t)
	g.Eventually(func() string { return w.state(t, other) }, time.Minute).Should(HavePrefix("False"))
	g.Eventually(func() string { return w.state(t, other) }, time.Minute).Should(ContainSubstring("owner"))
	g.Expect(w.client.Delete(t.Context(), other)).To(Succeed())
	g.Eventually(func() string { return w.state(t, other) }, time.Minute).Should(Equal(absent))
	g.Expect(w.usable(t, "owner")).To(Succeed())
}

func testDeletion(t *testing.T, w *world) {
	dropped, kept := w.database(t, "dropped", "dropped"), w.database(t, "kept", "kept")
	w.ready(t, dropped)
	w.ready(t, kept)
	g := NewWithT(t)
	g.Eventually(func() error {
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(kept), kept); err != nil {
			return err
		}
		kept.Spec.Keep = true
		return w.client.Update(t.Context(), kept)
	}, time.Minute).Should(Succeed())
	w.ready(t, kept)
	login := &corev1.Secret{}
	g.Expect(w.client.Get(t.Context(), client.ObjectKey{Namespace: "kept", Name: "shop-db"}, login)).To(Succeed())
	for _, database := range []*operator.Database{dropped, kept} {
		g.Expect(w.client.Delete(t.Context(), database)).To(Succeed())
		g.Eventually(func() string { return w.state(t, database) }, time.Minute).Should(Equal(absent))
	}
	g.Expect(connect(t, w.address, "kept", string(login.Data["password"]), "kept").PingContext(t.Context())).To(Succeed())
	var schemas int
	row := connect(t, w.address, adminUser, adminPassword, "").QueryRowContext(t.Context(),
		"SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'dropped'")
	g.Expect(row.Scan(&schemas)).To(Succeed())
	g.Expect(schemas).To(BeZero())
}
