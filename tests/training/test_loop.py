from __future__ import annotations
from repoformer.training.loop import train
def test_smoke(make_recipe):
    r = make_recipe()
    result = train(r)
    print(result)
    import subprocess
    print(subprocess.run(["find", str(r.out), "-type","f","-size","+0"],capture_output=True,text=True).stdout)
    print((r.out/"metrics.jsonl").read_text()); print((r.out/"README.md").read_text()); print((r.out/"repoformer.json").read_text())
    print(train(r))
