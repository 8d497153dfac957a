const crds = new k8s.helm.v3.Release("linkerd-crds", { version: "2026.8.2" }); // uplinker: chart
