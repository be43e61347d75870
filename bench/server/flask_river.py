"""A server as people build it today: Flask around a River model, one process, a lock around the model."""
import sys
import threading

from flask import Flask, jsonify, request
from river import linear_model, optim, preprocessing
from waitress import serve

app = Flask(__name__)
lock = threading.Lock()
model = preprocessing.StandardScaler() | linear_model.LogisticRegression(optim.SGD(0.1))


def examples(body):
    return body["examples"] if "examples" in body else [body]


@app.post("/learn")
def learn():
    learned = 0
    with lock:
        for example in examples(request.get_json()):
            model.learn_one(example["features"], example["label"])
            learned += 1
    return jsonify(learned=learned)


@app.post("/predict")
def predict():
    with lock:
        told = [model.predict_proba_one(example["features"]) for example in examples(request.get_json())]
    return jsonify(predictions=[{"probability": p.get(True, p.get(1, 0.5))} for p in told])


serve(app, host="127.0.0.1", port=int(sys.argv[1]), threads=8)
