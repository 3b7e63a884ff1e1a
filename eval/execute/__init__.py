"""Function completions judged by the repository's own tests (section 4.3): ``repoformer eval execute``.

    recipe.py        which repositories, how their tests are run, within which limits
    environments.py  what a repository's tests need is installed once
    junit.py         what a run says about single tests
    suite.py         a repository's tests with one function body replaced, in a sandbox
    bodies.py        which bodies there are to try, and why some are not
    execution.py     the records
    pass_rate.py     what came of it, per model and policy
    runner.py        all of it in order

A completion passes if no test fails that passed before. Two checks stand before that: the tests run with nothing
replaced, several times, and only those that pass every time count; and they run with a body that raises, which at
least one of them has to notice: where none does, the tests say nothing about that function and it is left out.
"""
